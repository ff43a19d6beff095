// What both fixture_overhead and google_overhead time: the same machine code of a known length.

#ifndef ASSAY_PROGRAMS_TIMED_BODY_H_
#define ASSAY_PROGRAMS_TIMED_BODY_H_

// Dependent steps of a multiplication and an addition, 1 to 2 ns each.
void timed_body(unsigned steps);

inline constexpr unsigned steps_of_10_ns = 6;
inline constexpr unsigned steps_of_1_us = 600;
inline constexpr unsigned steps_of_100_us = 60'000;

#endif  // ASSAY_PROGRAMS_TIMED_BODY_H_
