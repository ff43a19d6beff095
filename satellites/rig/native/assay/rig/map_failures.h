// An exception from a map is a failure of the map, whatever its type: no operation may throw here.
//
//     return telling_failures(subject.name, seed, [&] { return trial::run(request, subject); });
//
// throws it on as operation_failed, with the map and the seed, and lets what is the machine's fault
// or the caller's pass.

#ifndef ASSAY_RIG_MAP_FAILURES_H_
#define ASSAY_RIG_MAP_FAILURES_H_

#include <cstdint>
#include <exception>
#include <string>
#include <system_error>

#include "assay/input/bad_request.h"
#include "assay/input/message.h"
#include "assay/rig/recorder.h"

namespace assay::rig {

template <class Act>
auto telling_failures(const std::string& map, std::uint64_t seed, Act act) {
  const auto failed = [&](const std::string& what) {
    return operation_failed(map + ": seed " + std::to_string(seed) + ": the map threw " + what);
  };
  try {
    return act();
  } catch (const bad_request&) {
    throw;
  } catch (const std::system_error&) {
    throw;
  } catch (const std::exception& error) {
    throw failed("an exception: " + input::message(error.what()));
  } catch (...) {
    throw failed("something that is not a std::exception");
  }
}

}  // namespace assay::rig

#endif  // ASSAY_RIG_MAP_FAILURES_H_
