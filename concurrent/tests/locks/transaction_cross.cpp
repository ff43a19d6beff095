// All of transaction.h, for compilers of processors that are not here: `make lint` sees whether they
// and their assemblers take it.

#include <cstdint>

#include "assay/locks/transaction.h"

namespace transaction = assay::sync::transaction;

std::uint32_t add_in_transaction(std::uint64_t& word) {
  const transaction::status found = transaction::begin();
  if (!found.begun()) return found.code();
  if (++word == 0 && transaction::inside()) transaction::abort<1>();
  transaction::commit();
  return 0;
}
