"""nbgrader's configuration for this repository: the folders, the gradebook, and the kit's repairs in its pipeline."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from autograder.gradebook.nbgrader_configuration import configure  # noqa: E402

# A new gradebook calls `alembic` by name, and kernels import `utils` and `autograder`: both must be found.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))

configure(get_config())  # noqa: F821

# Settings of your own, such as a late penalty, go below; `python -m autograder` reads them as nbgrader does.
