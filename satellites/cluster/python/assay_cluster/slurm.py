"""Workers in one allocation of Slurm, by Dask's own class for its jobs: one step starts one on each node."""

import asyncio
import re
import shlex
from contextlib import suppress
from pathlib import Path

from dask_jobqueue.slurm import SLURMJob

from assay.errors import AssayError
from assay.words import one_line, printable
from assay_cluster.hosts_file import Slurm
from assay_cluster.loop import GRACE_S, ends, run
from assay_cluster.start import WORKER, end_of, last_words, shell_word, words
from assay_cluster.units import Work

_ASK_EVERY_S = 3
_ANSWER_S = 60  # of a busy controller
_ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
}
_LOG = ".assay-slurm-{}.log"
"""In the home, which most clusters share; where they do not, what workers printed stays on the first node."""


class SlurmUnit:
    """An allocation, in which each node has a worker."""

    name = "slurm"

    note = ""

    def __init__(self, table: Slurm) -> None:
        self.hosts = table.hosts
        self._table = table
        self._job: SLURMJob | None = None

    def start(self, work: Work) -> None:
        """Ask for the allocation; its workers start when Slurm grants it.

        Raises:
            AssayError: Slurm refuses it, or is not here.
        """
        self.close()
        try:
            run(self._start(work), within_s=_ANSWER_S)
        except FileNotFoundError as error:
            why = "there is no sbatch here; start the campaign where jobs of Slurm are submitted"
            raise AssayError(why) from error
        except TimeoutError as error:
            raise AssayError(f"Slurm does not answer within {_ANSWER_S} s; try sinfo") from error
        except RuntimeError as error:
            said = re.search(r"sbatch: error: (.*)", str(error))
            why = printable(one_line(said[1] if said else str(error), 300))
            raise AssayError(f"sbatch refuses: {why}; correct [slurm]") from error

    async def _start(self, work: Work) -> None:
        job = SLURMJob(
            "-",
            self.name,
            cores=1,
            memory="1GB",
            processes=1,
            interface="",
            shebang="#!/bin/sh",
            job_script_prologue=list(self._table.prologue),
            job_directives_skip=["#SBATCH"],  # all of Dask's, which are for one process
            job_extra_directives=self.directives(),
            python=f"{self._step()} {shell_word(self._table.python)}",
            worker_command=WORKER,
            worker_extra_args=[shlex.quote(word) for word in words(work, self.name)],
        )
        await job
        self._job = job
        self._end = asyncio.create_task(self._watch(job))

    def directives(self) -> list[str]:
        """Return the options of sbatch."""
        table = self._table
        given = {"partition": table.partition, "account": table.account, "time": table.time}
        return [
            "--job-name=assay",
            f"--nodes={self.hosts}",
            "--ntasks-per-node=1",
            "--exclusive",
            "--mem=0",  # all of a node's
            "--no-requeue",
            "--no-kill",  # a node that fails does not end the others
            f"--chdir={shlex.quote(str(Path.home()))}",
            f"--output={_LOG.format('%j')}",
            *(f"--{name}={shlex.quote(value)}" for name, value in given.items() if value),
            *table.directives,
        ]

    def _step(self) -> str:
        """Return the command of the step, whose workers are called as their nodes."""
        return (
            f"srun --nodes={self.hosts} --ntasks-per-node=1 --no-kill --kill-on-bad-exit=0 --wait=0"
            " --cpu-bind=none"
        )

    async def _watch(self, job: SLURMJob) -> str:
        """Wait until the job has ended; return its last words."""
        state, reason = "", ""
        while state not in _ENDED:
            await asyncio.sleep(_ASK_EVERY_S)
            try:
                told = await job._call(["scontrol", "show", "job", "--oneliner", job.job_id])
            except RuntimeError as error:
                if "Invalid job id" in str(error):  # Slurm forgets a job some minutes after its end
                    break
                continue
            state, reason = (
                found[1] if (found := re.search(rf"\b{key}=(\w+)", told)) else ""
                for key in ("JobState", "Reason")
            )
        why = "" if reason == "None" else f" ({reason})"
        how = "" if state == "COMPLETED" else f"Slurm's job {job.job_id}: {state or 'gone'}{why}"
        return "; ".join(filter(None, [self._printed(job), how]))

    def _printed(self, job: SLURMJob) -> str:
        """Return the end of what workers printed, where the home is shared."""
        with suppress(OSError), (Path.home() / _LOG.format(job.job_id)).open("rb") as file:
            lines = end_of(file).splitlines(keepends=True)
            own = [line for line in lines if not line.startswith(("srun: ", "slurmstepd: "))]
            return last_words(None, "".join(own or lines))
        return ""

    def ended(self) -> str | None:
        """Return None while the job waits or runs; else its last words."""
        return self._end.result() if self._job is not None and self._end.done() else None

    def close(self) -> None:
        """End the job."""
        if self._job is not None:
            with suppress(TimeoutError):
                run(self._close(self._job), within_s=_ANSWER_S)
            (Path.home() / _LOG.format(self._job.job_id)).unlink(missing_ok=True)
            self._job = None

    async def _close(self, job: SLURMJob) -> None:
        for command in ("scancel", "scancel --signal=KILL --full"):
            if self._end.done():
                break
            await job._close_job(job.job_id, command)
            await ends(self._end, GRACE_S + _ASK_EVERY_S)
