// Tests of elided locks obey ASSAY_TRANSACTIONS, as the laboratory's programs do: before main(),
// which is GoogleTest's.

#include "assay/host/transactions.h"

namespace {

[[maybe_unused]] const bool obeyed = (assay::host::obey_transactions_setting(), true);

}  // namespace
