// The file of an empirical distribution: one non-negative number a line.
//
//     # requests per hundredth of the key space
//     817
//     12.5
//
// Blank lines and lines that begin with # are skipped. An experiment records the digest of the file
// with each trial, so that a trial never runs with another file of the same name.

#ifndef ASSAY_TRIAL_WEIGHTS_FILE_H_
#define ASSAY_TRIAL_WEIGHTS_FILE_H_

#include <string>
#include <string_view>
#include <vector>

namespace assay::trial {

// FNV-1a of 64 bits (Fowler, Noll and Vo 1991) as 0x and 16 hexadecimal digits.
[[nodiscard]] std::string digest_of(std::string_view bytes);

// The numbers in `text`. Throws std::invalid_argument, naming the line at fault, if one is no
// number, negative or not finite, if there is none, or if all are 0.
[[nodiscard]] std::vector<double> parse_weights(std::string_view text);

// The numbers in the file at `path`, which must have that digest. Throws std::invalid_argument.
[[nodiscard]] std::vector<double> read_weights(const std::string& path, std::string_view digest);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_WEIGHTS_FILE_H_
