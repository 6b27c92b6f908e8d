"""mmengine's Runner with a console for people, and ranks that do without a GPU."""

import logging
import re

import torch
from mmengine.device import get_device
from mmengine.model import revert_sync_batchnorm
from mmengine.runner import Runner

# Pages of settings at every start, and what the libraries say of their own code, whatever the config.
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
    """A Runner whose console passes :class:`ConsoleFilter`, from ``console_level`` on; its log file keeps everything.

    With ``launcher='pytorch'`` and no GPU its ranks talk through gloo; mmengine would ask for a GPU.
    """

    console_level = logging.INFO

    def setup_env(self, env_cfg: dict) -> None:
        if self.launcher == 'pytorch' and get_device() == 'cpu' and not torch.distributed.is_initialized():
            torch.distributed.init_process_group('gloo')
        super().setup_env(env_cfg)

    def build_logger(self, *args, **kwargs):
        logger = super().build_logger(*args, **kwargs)
        for handler in logger.handlers:
            if not isinstance(handler, logging.FileHandler):
                handler.setLevel(max(handler.level, self.console_level))
                handler.addFilter(ConsoleFilter())
        return logger

    def build_visualizer(self, visualizer=None):
        # mmdet's and mmseg's configs give all visualizers one name, and mmengine one process one of a name: the curves
        # of a second run would go to the folder of the first
        if isinstance(visualizer, dict):
            visualizer = {**visualizer, 'name': self.experiment_name}
        return super().build_visualizer(visualizer)

    def wrap_model(self, model_wrapper_cfg: dict | None, model):
        if self.distributed and get_device() == 'cpu':
            model = revert_sync_batchnorm(model)  # SyncBN works on GPUs only
            unused = self.cfg.get('find_unused_parameters', False)
            plain = dict(broadcast_buffers=False, find_unused_parameters=unused, device_ids=None)
            model_wrapper_cfg = {**plain, **(model_wrapper_cfg or {})}
        return super().wrap_model(model_wrapper_cfg, model)


class QuietRunner(ConsoleRunner):
    """Only warnings reach the console: the result is what a test has to say."""

    console_level = logging.WARNING
