"""Where pitfalls and limits are described, for several rules."""

ANOMALIES = "Kharal & Brown, Performance Anomalies in Concurrent Data Structure Microbenchmarks"
BENCHMARKING = "On Benchmarking, Part 2 (JayBeams, 2017)"
RANDOMNESS = "Blackwell, Applications of Randomness in System Performance Measurement, 1998"
REASONABLE_TIME = "Kalibera & Jones, Rigorous Benchmarking in Reasonable Time, 2013"
TYPICAL_VALUES = "Hartigan, Using Subsample Values as Typical Values, 1969"
WARMUP = "Barrett et al., Virtual Machine Warmup Blows Hot and Cold, 2017"
WRONG_DATA = "Mytkowicz et al., Producing Wrong Data Without Doing Anything Obviously Wrong, 2009"
