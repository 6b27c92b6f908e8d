"""mmengine's Runner with a console for people; the log file keeps everything."""

import logging
import re

from mmengine.runner import Runner

# Pages of settings at every start, and what mmengine and mmseg warn of in their own code, whatever the config says.
_FOR_THE_FILE = re.compile(
    r'\s*(-+\s+System environment|Config:|Hooks will be executed|Exp name: |Distributed training is not used|'
    r'"FileClient" will be|"HardDiskBackend" is the|The prefix is not set in metric class|'
    r'Loads checkpoint by local backend|`save_param_scheduler` is True)'
)


class ConsoleFilter(logging.Filter):
    """Keeps off the console what is only worth a log file, and any warning that it has shown already."""

    def __init__(self):
        super().__init__()
        self.shown: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if _FOR_THE_FILE.match(message) or message in self.shown:
            return False
        if record.levelno == logging.WARNING:
            self.shown.add(message)
        return True


class ConsoleRunner(Runner):
    """A Runner whose console passes :class:`ConsoleFilter`, from ``console_level`` on."""

    console_level = logging.INFO

    def build_logger(self, *args, **kwargs):
        logger = super().build_logger(*args, **kwargs)
        for handler in logger.handlers:
            if not isinstance(handler, logging.FileHandler):
                handler.setLevel(max(handler.level, self.console_level))
                handler.addFilter(ConsoleFilter())
        return logger


class QuietRunner(ConsoleRunner):
    """Only warnings reach the console: the result is what a test has to say."""

    console_level = logging.WARNING
