// Which transactions of the processor a program of the laboratory uses: as ASSAY_TRANSACTIONS in
// its environment says, from which trials get it by the setting `transactions`.

#ifndef ASSAY_HOST_TRANSACTIONS_H_
#define ASSAY_HOST_TRANSACTIONS_H_

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "assay/locks/transaction.h"

namespace assay::host {

// Obeys ASSAY_TRANSACTIONS: `none` leaves available transactions unused, and with `rtm` a program
// that does not have them ends with a message. Call it at the beginning of main(), before any lock
// is used and any thread is started.
inline void obey_transactions_setting() {
  namespace transaction = sync::transaction;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread has been started
  const char* const wanted = std::getenv("ASSAY_TRANSACTIONS");
  if (wanted == nullptr) return;
  if (std::string_view(wanted) == "none" &&
      transaction::turn_off("ASSAY_TRANSACTIONS=none turns them off")) {
    return;
  }
  const char* const name = transaction::backend_name();
  if (std::string_view(wanted) == name) return;
  const bool none = !transaction::available();
  std::fprintf(stderr,
               "assay: ASSAY_TRANSACTIONS=%s: there are %s transactions here%s%s; unset it, set it "
               "to none, or run the program under assay-rtm\n",
               wanted, none ? "no" : name, none ? ": " : "", transaction::why_none());
  std::exit(EXIT_FAILURE);  // NOLINT(concurrency-mt-unsafe): no thread has been started
}

}  // namespace assay::host

#endif  // ASSAY_HOST_TRANSACTIONS_H_
