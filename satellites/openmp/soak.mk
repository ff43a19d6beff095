# What `make soak` runs of the OpenMP runtime: random graphs of tasks that are new each time, and LLVM's tests, which apt fetches.
.PHONY: soak-openmp
soak: soak-openmp
soak-openmp: develop
	cmake --build --preset release --parallel $(JOBS) --target assay-omp openmp_random_graphs
	cmake --build --preset tsan --parallel $(JOBS) --target openmp_random_graphs
	build/release/bin/assay-omp build/release/bin/openmp_random_graphs 200000 $$(date +%s)
	TSAN_OPTIONS=halt_on_error=1 build/tsan/bin/openmp_random_graphs 5000 $$(date +%s)
	satellites/openmp/tools/llvm-tests build/release/lib/openmp/libassay-gomp.so
