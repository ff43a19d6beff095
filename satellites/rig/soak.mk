# What `make soak` runs of the rig: every check of every map, its tests, and whether it accuses maps that are right.
SOAKED_PROGRAMS += assay-rig
SOAKED_TESTS += rig_bt_map_test rig_elb_test

.PHONY: soak-sound-maps
soak: soak-sound-maps
soak-sound-maps: develop
	cmake --build --preset release --parallel $(JOBS) --target assay-rig-sound
	satellites/rig/tools/check-sound-maps build/release/bin/assay-rig-sound --seeds 1
