# What `make develop` and `make soak` do for bundles. roc-validator has an environment of its own: it wants an older Rich.
.PHONY: soak-bundle
develop: .venv/roc-validator/.ready
soak: soak-bundle
soak-bundle: develop
	@tools/install-packages tools/packages-wheel-test.txt
	cmake --build --preset release --parallel $(JOBS) --target $(QUICKSTART_PROGRAMS)
	satellites/bundle/tools/check-bundle

.venv/roc-validator/.ready: satellites/bundle/tests/roc-validator.lock | .venv/.ready
	$(PYTHON) -m venv --clear .venv/roc-validator
	VIRTUAL_ENV=.venv/roc-validator $(VENV)/uv --quiet pip install --require-hashes -r $<
	touch $@
