# Hosts on one machine, in namespaces of their own, for tests of campaigns on several hosts.
.PHONY: cluster-test
cluster-test: all-packages .venv/.ready quickstart-programs ## Run campaigns over two hosts on this machine, by ssh and Slurm: some minutes, as root.
	@tools/install-packages tools/packages-cluster-test.txt
	TRIALS=$(or $(TRIALS),400) KILLS=$(or $(KILLS),8) satellites/cluster/tests/alone $(VENV)/pytest satellites/cluster/tests/*_tests.py
