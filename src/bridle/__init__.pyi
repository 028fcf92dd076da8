"""What programs import from Bridle. The module itself imports each name when it is first used."""

from bridle.engine.process.context import Context as Context
from bridle.engine.process.define_task import DefinedTask as DefinedTask
from bridle.engine.process.define_task import TaskContext as TaskContext
from bridle.engine.process.define_task import define_task as define_task
from bridle.engine.process.task_templates import breakpoint_task as breakpoint_task
from bridle.engine.process.task_templates import node_task as node_task
from bridle.engine.process.task_templates import orchestrator_task as orchestrator_task
from bridle.engine.process.task_templates import sleep_task as sleep_task
from bridle.errors import EffectFailed as EffectFailed
from bridle.errors import Error as Error
from bridle.loop.control.current_state import read_receipt as read_receipt
from bridle.loop.process.receipt import Receipt as Receipt
from bridle.run.finished import Finished as Finished
from bridle.run.read_log import LoggedRun as LoggedRun
from bridle.run.read_log import read_log as read_log
from bridle.run.run_agent import run_agent as run_agent
from bridle.stage.script import load_script as load_script
from bridle.stage.server import Stage as Stage

__version__: str
__all__: list[str]
_PROCESSES: dict[str, str]
_MODULES: dict[str, str]
