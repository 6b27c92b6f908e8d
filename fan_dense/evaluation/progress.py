"""Progress of an evaluation over conditions and images, with the time that is left."""

import sys
import time

from fan_dense.evaluation.result import Condition


class Progress:
    """One line on stderr: rewritten in place on a terminal, a new one every half minute in a log.

    Args:
        conditions: number of conditions to go.
        images: number of images in each.
        shown: False keeps it silent, as all ranks but the first are.
    """

    def __init__(self, conditions: int, images: int, *, shown: bool = True):
        self.conditions = conditions
        self.images = images
        self.shown = shown
        self.terminal = sys.stderr.isatty()
        self.begun = self.done = 0
        self.started = self.written = time.monotonic()

    def begin(self, condition: Condition) -> None:
        """The next condition starts."""
        self.condition = condition
        self.begun += 1
        self.done = 0

    def advance(self, images: int) -> None:
        """So many more images of it are evaluated."""
        self.done = min(self.images, self.done + images)
        now = time.monotonic()
        finished = self.done == self.images and self.terminal
        if self.shown and (finished or now - self.written > (0.2 if self.terminal else 30)):
            self.written = now
            text = self.line(now)
            print(
                f'\r{text}\x1b[K' if self.terminal else text,
                end='' if self.terminal else '\n',
                file=sys.stderr,
                flush=True,
            )

    def close(self) -> None:
        """Leave the line."""
        if self.shown and self.terminal and self.begun:
            print(file=sys.stderr)

    def line(self, now: float) -> str:
        """What there is to say at the time ``now``."""
        done = (self.begun - 1) * self.images + self.done
        rate = done / max(now - self.started, 1e-9)
        left = round((self.conditions * self.images - done) / rate) if rate else 0
        left = f'{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left'
        counted = f' ({self.begun}/{self.conditions})' if self.conditions > 1 else ''
        return f'{self.condition}{counted}: {self.done}/{self.images} images, {rate:.1f} images/s, {left}'
