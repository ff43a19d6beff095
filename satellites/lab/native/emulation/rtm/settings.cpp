#include "emulation/rtm/settings.h"

#include <sstream>

namespace assay::emulation {

std::string settings::to_text() const {
  std::ostringstream text;
  text.precision(17);
  text << sets << ' ' << ways << ' ' << read_ways << ' ' << abort_percent << ' ' << seed << ' '
       << json << ' ' << replaces_begins << ' ' << record;
  return text.str();
}

settings settings::parse(const char* text) {
  settings found;
  if (text == nullptr) return found;
  std::istringstream in(text);
  in >> found.sets >> found.ways >> found.read_ways >> found.abort_percent >> found.seed >>
      found.json >> found.replaces_begins;
  in.ignore();
  std::getline(in, found.record, '\0');
  return found;
}

}  // namespace assay::emulation
