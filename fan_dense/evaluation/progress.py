"""Progress of a test, with the time that is left."""

import sys
import time

from mmengine.hooks import Hook


class Progress(Hook):
    """One line on stderr: rewritten in place on a terminal, a new one every half minute in a log."""

    def before_test(self, runner) -> None:
        self.done = 0
        self.started = self.shown = time.monotonic()
        self.total = len(runner.test_dataloader.dataset)

    def after_test_iter(self, runner, batch_idx, data_batch=None, outputs=None) -> None:
        self.done = min(self.total, self.done + len(outputs) * runner.world_size)
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if runner.rank == 0 and (
            now - self.shown > (0.2 if terminal else 30) or (terminal and self.done == self.total)
        ):
            self.shown = now
            rate = self.done / (now - self.started)
            left = time.strftime('%H:%M:%S', time.gmtime((self.total - self.done) / rate))
            line = f'{self.done}/{self.total} images, {rate:.1f} images/s, {left} left'
            print(f'\r{line}\x1b[K' if terminal else line, end='' if terminal else '\n', file=sys.stderr, flush=True)

    def after_test_epoch(self, runner, metrics=None) -> None:
        if runner.rank == 0 and sys.stderr.isatty():
            print(file=sys.stderr)
