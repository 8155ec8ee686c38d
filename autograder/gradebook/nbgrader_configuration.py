"""Plugs the kit into nbgrader: the instructor's own configuration, and on top of it the kit's folders, gradebook and steps."""

import os
import re
from contextlib import contextmanager
from copy import deepcopy
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from traceback import walk_tb

from jupyter_core.paths import jupyter_config_dir, jupyter_config_path
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties
from traitlets import TraitError
from traitlets.config import Config
from traitlets.config.loader import JSONFileConfigLoader, PyFileConfigLoader

from autograder import settings
from autograder.intake.timestamp import read_time

# Names of files as Moodle (in folders or flat) and Canvas write them, below the folder into which zip_collect unpacks.
DOWNLOADED = (
    r".*/(?P<student_id>[^/_]+)(?:_LATE)?_\d+_(?:assignsubmission_file_?/?|\d+_)(?P<file_id>[^/]+?)(?:-\d+)?\.ipynb$"
)
# packages of layers above, of which nbgrader loads by name what their constants name
PLUGIN, REPORTS = "autograder.nbgrader_plugin", "autograder.reports"
_reading: list[bool] = []  # not empty while the instructor's files are read
SHARED_EXCHANGE = Path("/usr/local/share/nbgrader/exchange")  # where a server with several users has it


def configuration() -> Config:
    """The configuration under which nbgrader's commands would run in this repository, each file read once a process.

    Raises:
        KitError: one of the instructor's files cannot be read.
    """
    return configure(deepcopy(_instructors_configuration(tuple(_configuration_files()))))


def _configuration_files() -> list[tuple[Path, int]]:
    """The files that nbgrader reads, with the time of their last change; a later one overrules those before it."""
    places = jupyter_config_path()
    places = ([] if jupyter_config_dir() in places else [jupyter_config_dir()]) + places
    folders = [(name, Path(place)) for name in ("jupyter_config", "nbgrader_config") for place in reversed(places)]
    folders.append(("nbgrader_config", settings.ROOT))
    asked = [folder / f"{name}{end}" for name, folder in folders for end in (".py", ".json")]
    return [(file, file.stat().st_mtime_ns) for file in asked if file.is_file()]


@lru_cache(maxsize=4)
def _instructors_configuration(files: tuple[tuple[Path, int], ...]) -> Config:
    config, path = Config(), os.environ.get("PYTHONPATH")
    _reading.append(True)
    try:
        for file in files:
            config.merge(deepcopy(_read(*file)))
    finally:  # nbgrader_config.py sets PYTHONPATH for nbgrader's kernels; the kit's own processes do without it
        _reading.pop()
        os.environ.pop("PYTHONPATH", None)
        os.environ |= {} if path is None else {"PYTHONPATH": path}
    return config


@lru_cache(maxsize=16)
def _read(file: Path, changed: int) -> Config:
    loader = JSONFileConfigLoader if file.suffix == ".json" else PyFileConfigLoader
    try:
        return loader(file.name, path=str(file.parent)).load_config()
    except settings.KitError:
        raise
    except (Exception, SystemExit) as error:  # it is code, and may fail in any way
        where, fault = place(error, file), describe(error)
        raise settings.KitError(f"{where}: nbgrader's configuration cannot be used ({fault}).") from None


def place(error: BaseException, file: Path | None = None) -> str:
    """Where something failed that an instructor wrote: the file, and its line as far as it can be told."""
    raised = [(Path(frame.f_code.co_filename), number) for frame, number in walk_tb(error.__traceback__)]
    own = [location for location in raised if file is None or location[0].name == file.name]
    last, line = own[-1] if own else (file, None)
    number = getattr(error, "lineno", None) or line
    return f"{file or last}{f', line {number}' if number else ''}"


def describe(error: BaseException) -> str:
    """An error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextmanager
def checked():
    """Turns nbgrader's refusal of a setting into a sentence.

    Raises:
        KitError: a setting has a value that nbgrader does not take.
    """
    try:
        yield
    except TraitError as error:
        name = (re.search(r"'(\w+)' trait", str(error)) or [None, ""])[1]
        where = f"{_where_set(name)}: " if name else ""
        raise settings.KitError(f"{where}nbgrader's configuration cannot be used ({describe(error)}).") from None


def _where_set(name: str) -> str:
    """The file and line that set something, the last where there are several."""
    mentions = [
        f"{file}, line {number}"
        for file, _ in _configuration_files()
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if re.search(rf"\b{name}\b", line)
    ]
    return (mentions or ["nbgrader_config.py"])[-1]


def configure(config: Config) -> Config:
    """Fills an nbgrader configuration and returns it."""
    folder = settings.class_folder()
    config.CourseDirectory.course_id = settings.course_id()
    config.CourseDirectory.root = str(settings.ROOT)
    config.CourseDirectory.source_directory = settings.SOLUTIONS.name
    places = {step: folder / step for step in ("submitted", "autograded", "feedback")}
    for step, place in {"release": settings.ASSIGNMENTS, **places}.items():
        inside = place.is_relative_to(settings.ROOT)
        setattr(config.CourseDirectory, f"{step}_directory", str(place.relative_to(settings.ROOT) if inside else place))
    config.CourseDirectory.db_url = settings.database()
    config.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "*.py", "*.so"]
    _plug_in(config)
    _connect_to_the_exchange(config)
    # A mark scheme stands in the locked question above a written answer, which keeps its "no response" check.
    config.ClearMarkScheme.enforce_metadata = False
    config.GenerateFeedback.preprocessors = [
        "nbgrader.preprocessors.GetGrades",
        "nbgrader.preprocessors.ClearHiddenTests",
        "nbgrader.preprocessors.ClearMarkScheme",
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]
    config.ZipCollectApp.collect_directory_structure = str(
        folder / "{downloaded}" / "{assignment_id}" / "{collect_step}"
    )
    config.FileNameCollectorPlugin.setdefault("named_regexp", DOWNLOADED)
    _show_safely(config)
    config.Application.log_level = "WARN"
    _read_times_as_grade_does()
    _follow_the_deadlines()
    settings.make_class_folder()
    return config


def _plug_in(config: Config) -> None:
    """Sets the kit's steps among nbgrader's own, in releasing an assignment and in grading."""
    plugin = import_module(PLUGIN)
    own = [f"{step.__module__}.{step.__name__}" for step in GenerateAssignment.preprocessors.default_args[0]]
    config.GenerateAssignment.preprocessors = [*own, plugin.RUN_ALL]
    config.Autograde.sanitize_preprocessors = [  # by name, so that formgrader can show its configuration
        "nbgrader.preprocessors.ClearOutput",
        plugin.REPAIR,
        "nbgrader.preprocessors.DeduplicateIds",
        "nbgrader.preprocessors.OverwriteKernelspec",
        "nbgrader.preprocessors.OverwriteCells",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    config.Autograde.autograde_preprocessors = [
        plugin.EXAMINE,
        "nbgrader.preprocessors.IgnorePattern",
        "nbgrader.preprocessors.LimitOutput",
        plugin.SAVE_MARKS,
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    config.Autograde.exporter_class = plugin.ANY_NOTEBOOK


def _configuration_elsewhere() -> Config:
    """The configuration that nbgrader reads in other places than the repository."""
    try:
        return _instructors_configuration(
            tuple(entry for entry in _configuration_files() if entry[0].parent != settings.ROOT)
        )
    except settings.KitError:
        return Config()  # nbgrader and `configuration` report the fault themselves


def _connect_to_the_exchange(config: Config) -> None:
    """Sets the exchange: the one that the server's configuration names, else the server's usual one, else the class's own."""
    if _reading:
        return  # the configuration that is read here is connected later, once all files are read
    elsewhere = _configuration_elsewhere()
    if not SHARED_EXCHANGE.exists() and "root" not in {**elsewhere.Exchange, **config.Exchange}:
        config.Exchange.root = str(settings.make_class_folder() / "exchange")
        Path(config.Exchange.root).mkdir(exist_ok=True)
    plugin = import_module(PLUGIN)
    for step, name in (("collect", plugin.COLLECT), ("release_feedback", plugin.RELEASE_FEEDBACK)):
        if step not in elsewhere.ExchangeFactory:
            config.ExchangeFactory.setdefault(step, name)


def _show_safely(config: Config) -> None:
    """Feedback and formgrader show what a student wrote, and run none of it. (nbgrader's templates clean nothing.)"""
    reports = import_module(REPORTS)
    config.HTMLExporter.sanitize_html = True
    config.HTMLExporter.preprocessors = [reports.CLEAN_OUTPUTS]
    config.HTMLExporter.filters = {
        "markdown2html": reports.MARKDOWN_TO_HTML,
        "clean_html": reports.CLEAN_HTML,
        "strip_files_prefix": reports.UNCHANGED,
    }
    config.SanitizeHTML.enabled = True
    config.GenerateFeedback.exporter_class = reports.FEEDBACK_PAGE


def _read_times_as_grade_does() -> None:
    """Makes nbgrader read a timestamp.txt as `grade` does.

    nbgrader has no setting for that, and fails with a student's work or a whole page where the file holds no time.
    """
    CourseDirectory.get_existing_timestamp = lambda self, folder: read_time(Path(folder) / "timestamp.txt").at
    NbGraderAPI.get_submitted_timestamp = lambda self, unit, student: self.coursedir.get_existing_timestamp(
        self.coursedir.format_path(self.coursedir.submitted_directory, student, unit)
    )


def _follow_the_deadlines() -> None:
    """Unless the instructor has chosen another plugin, late penalties are those of the class's deadlines."""
    AssignLatePenalties.plugin_class.default_value = import_module(PLUGIN).BY_DEADLINES


def gradebook_of(url: str) -> Gradebook:
    """The gradebook at a database's address."""
    return Gradebook(url, settings.course_id())
