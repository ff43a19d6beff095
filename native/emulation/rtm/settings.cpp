#include "emulation/rtm/settings.h"

#include <sstream>

namespace assay::emulation {

std::string settings::to_text() const {
  std::ostringstream text;
  text.precision(17);
  text << sets << ' ' << ways << ' ' << read_ways << ' ' << abort_percent << ' ' << seed << ' '
       << json;
  return text.str();
}

settings settings::parse(const char* text) {
  settings found;
  if (text == nullptr) return found;
  std::istringstream in(text);
  in >> found.sets >> found.ways >> found.read_ways >> found.abort_percent >> found.seed >>
      found.json;
  return found;
}

}  // namespace assay::emulation
