"""How the kit plugs into nbgrader: folders, gradebook and preprocessors, for its commands and for formgrader."""

from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder import settings
from autograder.intake.timestamp import read_time

COURSE = "attention-course"
SHARED_EXCHANGE = Path("/usr/local/share/nbgrader/exchange")  # where a server with several users has it


def configure(config: Config) -> Config:
    """Fills an nbgrader configuration and returns it."""
    folder = settings.class_folder()
    config.CourseDirectory.course_id = COURSE
    config.CourseDirectory.root = str(settings.ROOT)
    config.CourseDirectory.source_directory = settings.SOLUTIONS.name
    places = {step: folder / step for step in ("submitted", "autograded", "feedback")}
    for step, place in {"release": settings.ASSIGNMENTS, **places}.items():
        inside = place.is_relative_to(settings.ROOT)
        setattr(config.CourseDirectory, f"{step}_directory", str(place.relative_to(settings.ROOT) if inside else place))
    config.CourseDirectory.db_url = settings.database()
    config.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "*.py", "*.so"]
    config.Autograde.sanitize_preprocessors = [  # by name, so that formgrader can show its configuration
        "nbgrader.preprocessors.ClearOutput",
        "autograder.nbgrader_plugin.autograding.Repair",
        "nbgrader.preprocessors.DeduplicateIds",
        "nbgrader.preprocessors.OverwriteKernelspec",
        "nbgrader.preprocessors.OverwriteCells",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    config.Autograde.autograde_preprocessors = [
        "autograder.nbgrader_plugin.autograding.Examine",
        "nbgrader.preprocessors.IgnorePattern",
        "nbgrader.preprocessors.LimitOutput",
        "autograder.nbgrader_plugin.autograding.SaveMarks",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    config.Autograde.exporter_class = "autograder.nbgrader_plugin.autograding.AnyNotebook"
    if not SHARED_EXCHANGE.exists():
        config.Exchange.root = str(folder / "exchange")
        (folder / "exchange").mkdir(parents=True, exist_ok=True)
    # A mark scheme stands in the locked question above a written answer, which keeps its "no response" check.
    config.ClearMarkScheme.enforce_metadata = False
    config.GenerateFeedback.preprocessors = [
        "nbgrader.preprocessors.GetGrades",
        "nbgrader.preprocessors.ClearHiddenTests",
        "nbgrader.preprocessors.ClearMarkScheme",
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]
    _show_safely(config)
    config.Application.log_level = "WARN"
    _read_times_as_grade_does()
    folder.mkdir(parents=True, exist_ok=True)
    return config


def _show_safely(config: Config) -> None:
    """Feedback and formgrader show what a student wrote, and run none of it. (nbgrader's templates clean nothing.)"""
    config.HTMLExporter.sanitize_html = True
    config.HTMLExporter.preprocessors = ["autograder.reports.safe_html.CleanOutputs"]
    config.HTMLExporter.filters = {
        "markdown2html": "autograder.reports.safe_html.markdown2html",
        "strip_files_prefix": "autograder.reports.safe_html.unchanged",
    }
    config.SanitizeHTML.enabled = True
    config.GenerateFeedback.exporter_class = "autograder.reports.feedback_page.FeedbackPage"


def _read_times_as_grade_does() -> None:
    """nbgrader has no setting for how a timestamp.txt is read, and gives a student up, or a page, at one that is no time."""
    CourseDirectory.get_existing_timestamp = lambda self, folder: read_time(Path(folder) / "timestamp.txt")[0]
    NbGraderAPI.get_submitted_timestamp = lambda self, unit, student: self.coursedir.get_existing_timestamp(
        self.coursedir.format_path(self.coursedir.submitted_directory, student, unit)
    )


def gradebook_of(url: str) -> Gradebook:
    """The gradebook at a database's address."""
    return Gradebook(url, COURSE)
