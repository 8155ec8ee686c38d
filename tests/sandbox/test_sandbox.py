"""Each promise of the sandbox, at every level that this machine has: what code in it cannot reach, use up or leave behind."""

import os
import re
import time

import pytest
from conftest import ROOT, UNIT
from in_sandbox import STRONG, printed, run

from autograder import settings
from autograder.grading.examination import examine_cells
from autograder.sandbox import levels
from autograder.sandbox.inside import landlock, syscalls
from autograder.sandbox.levels import BUBBLEWRAP, LANDLOCK, RLIMITS
from autograder.sandbox.limits import limits_of

LOOK = """
import os
try:
    (os.listdir if os.path.isdir(FILE) else open)(FILE)
    print("seen")
except OSError:
    print("none")
"""
WRITE = """
for place in ("/x", "/usr/x", "/dev/x", "/course/x", "/course/utils/x", "/var/tmp/x", "/proc/x"):
    try:
        open(place, "w")
        print("written", place)
    except OSError:
        pass
print("end")
"""
CONNECT = """
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
    try:
        socket.socket(socket.AF_INET, kind)
        print("made")
    except OSError:
        print("refused")
"""
SIGNAL = """
import os
for number in (os.getppid(), GRADER, -1, 1):
    try:
        number != os.getpid() and os.kill(number, 9)
    except OSError:
        pass
print("alive")
"""
DESCRIPTORS = """
import os
for number in range(3, 4096):
    try:
        print(number, os.fstat(number).st_mode)
    except OSError:
        pass
"""


@pytest.fixture(params=levels.available())
def level(request):
    return request.param


@pytest.fixture(params=STRONG)
def strong(request):
    return request.param


def test_this_machine_has_the_levels_that_its_kernel_allows():
    assert RLIMITS in levels.available()
    if os.environ.get("REQUIRE_SANDBOX"):
        assert levels.available() == (BUBBLEWRAP, LANDLOCK, RLIMITS)
    assert (LANDLOCK in levels.available()) == bool(landlock.version() and syscalls.available())


def test_the_weakest_level_must_be_accepted(monkeypatch):
    monkeypatch.delenv("COURSE_ACCEPT_WEAK_SANDBOX", raising=False)
    with pytest.raises(settings.KitError, match="--accept-weak-sandbox"):
        levels.choose(RLIMITS)
    assert levels.choose(RLIMITS, accept_weak=True) == RLIMITS
    with pytest.raises(settings.KitError, match="is not to be had"):
        levels.choose("moat")


def test_a_gpu_is_refused_where_submissions_could_not_see_it(strong):
    with pytest.raises(settings.KitError, match=f"{strong} hides cuda from submissions"):
        levels.choose(strong, device="cuda")
    assert levels.choose(RLIMITS, accept_weak=True, device="cuda") == RLIMITS


def test_code_runs_in_a_scratch_folder_of_its_own_that_is_gone_afterwards(level):
    said = printed(level, "import os\nopen('kept.txt', 'w').write('x')\nprint(os.listdir('.'), os.getcwd())")
    assert said.startswith("['kept.txt']")
    assert not os.path.exists(said.split()[-1])
    assert printed(level, "import os\nprint(os.listdir('.'))") == "[]"


def test_files_of_the_course_and_of_the_user_cannot_be_opened(strong, tmp_path):
    (tmp_path / "secret").write_text("a secret")
    own = (ROOT / "solutions", ROOT / "autograder" / "bank" / "catalogue.py", ROOT / "pyproject.toml")
    for file in (*own, tmp_path / "secret", "/etc/passwd", "/home", "/var/log"):
        source = LOOK.replace("FILE", repr(str(file)))
        assert printed(strong, source) == "none", file


MACHINE = """
import os
for place in ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu/possible"):
    print(len(open(place).read()) > 0)
    try:
        open(place, "a")
        print("opened to write")
    except OSError:
        pass
"""


def test_of_the_machine_the_processor_and_its_memory_can_be_read_and_no_more(strong):
    assert printed(strong, MACHINE).split() == ["True"] * 3
    known = (
        "/proc/self/environ",
        "/proc/1/cmdline",
        "/proc/self/maps",
        "/proc/net/dev",
        "/proc/mounts",
        "/proc/cmdline",
    )
    other = ("/sys/class", "/sys/devices/virtual", "/sys/devices/system/memory", "/sys/fs/cgroup", "/sys/kernel")
    for file in (*known, *other):
        assert printed(strong, LOOK.replace("FILE", repr(file))) == "none", file


def test_a_file_of_the_students_is_closed_by_nobody_else(level):
    source = (
        "import gc, matplotlib.font_manager as fonts, matplotlib.pyplot as plt\nkept = [open(f'f{n}', 'w') for n in range(20)]"
        "\nfor n in range(60):\n    plt.figure().text(0, 0, f'${n}$').figure.canvas.draw()\n    plt.close()"
        "\nfonts._get_font.cache_clear(); gc.collect()\nfor one in kept:\n    one.write('x'); one.close()\nprint('kept')"
    )
    assert printed(level, source) == "kept"


def test_the_exercise_bank_cannot_be_imported(strong):
    assert printed(strong, "import autograder.bank.catalogue") in ("ModuleNotFoundError", "PermissionError")


def test_utils_and_the_packages_can_be_read_and_not_written(strong):
    source = (
        "import utils.check, torch\nfor module in (utils.check, torch):\n    try:\n        open(module.__file__, 'a')\n"
    )
    assert printed(strong, source + "    except OSError:\n        print('refused')").split() == ["refused"] * 2


def test_nothing_can_be_written_outside(strong):
    assert printed(strong, WRITE) == "end"


def test_there_is_no_network(strong):
    assert printed(strong, CONNECT).split() == ["refused"] * 3


@pytest.mark.parametrize(
    "start", ["os.fork()", "subprocess.run(['true'])", "os.posix_spawn('/bin/true', ['true'], {})"]
)
def test_no_other_process_can_be_started(level, start):
    if not syscalls.available():
        pytest.skip("no libseccomp here")
    assert printed(level, f"import os, subprocess\n{start}") in ("PermissionError", "BlockingIOError")


def test_threads_can_be_started(level):
    assert (
        printed(level, "import threading\nt = threading.Thread(target=print, args=('ran',))\nt.start(); t.join()")
        == "ran"
    )


def test_other_processes_cannot_be_signalled(level):
    if not syscalls.available():
        pytest.skip("no libseccomp here")
    assert printed(level, SIGNAL.replace("GRADER", str(os.getpid()))) == "alive"


def test_memory_is_bounded(level):
    assert printed(level, "kept = bytearray(8 << 30)") == "MemoryError"
    assert printed(level, "print('well')") == "well"


def test_a_cell_that_fills_the_memory_leaves_enough_to_examine_what_the_others_made(level):
    fill = (
        "import mmap\nkept = []\nsize = 1 << 26\nwhile size >= 1 << 12:\n    try: kept.append(mmap.mmap(-1, size))\n"
        "    except OSError: size >>= 1\ntry:\n    while True: kept.append(bytes(500))\nexcept MemoryError: del kept[-400:]"
    )
    solved = "def attention_scores(q, X):\n    return (q.unsqueeze(-2) * X).sum(-1)"
    cells = [{"source": solved}, {"source": fill}, {"exercise": "attention_scores"}]
    _, (examined,) = examine_cells(cells, "seed", level, limits_of(UNIT))
    assert examined.result.passed, examined.result.message


def test_disk_is_bounded(level):
    source = (
        "import time\nfor number in range(400):\n    with open(f'f{number}', 'wb') as file:\n        file.write(bytes(1 << 20))"
        "\n    time.sleep(0.003)"  # where the disk is looked at now and then, not faster than that
    )
    ran = run(level, source, "print('end')")
    assert "OSError" in str(ran.outputs.get(0)) or "wrote more to disk" in ran.fatal.get(0, "")


def test_a_single_file_is_bounded(level):
    assert printed(level, "open('big', 'wb').truncate(1 << 30)") == "OSError"


def test_a_cell_that_runs_for_too_long_is_stopped_and_the_rest_goes_on(level):
    ran = run(level, "while True: pass", "print('next')", seconds=1)
    assert ran.outputs[0][0]["ename"] == "TimeLimit" and ran.outputs[1][0]["text"] == "next\n"


def test_a_cell_that_will_not_be_stopped_is_left_out(level):
    deaf = "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass"
    started = time.monotonic()
    ran = run(level, "x = 1", deaf, "print(x)", seconds=1)
    assert ran.how == "ended" and set(ran.fatal) == {1} and ran.hung == {1}
    assert ran.outputs[2][0]["text"] == "1\n" and time.monotonic() - started < 20


def test_a_job_as_a_whole_is_bounded(level):
    ran = run(level, *["import time\ntime.sleep(2)"] * 5, seconds=3, total=3)
    assert ran.how == "timeout" and ran.reached < 5


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import os\nos._exit(0)", "its own process"),
        ("import ctypes\nctypes.string_at(0)", "segmentation fault"),
        ("import os\nos.abort()", "SIGABRT|segmentation"),
    ],
)
def test_a_cell_in_which_the_process_dies_is_left_out_and_told(level, source, why):
    ran = run(level, "x = 1", source, "print(x)")
    assert ran.how == "ended" and re.search(why, ran.fatal[1]) and ran.outputs[2][0]["text"] == "1\n"


def test_jobs_do_not_see_what_earlier_ones_did(level):
    run(
        level,
        "import torch, utils.check\ntorch.softmax = None\nutils.check.left = 1\nimport os\nos.environ['LEFT'] = '1'",
    )
    said = printed(
        level,
        "import os, torch, utils.check\nprint(torch.softmax is None, hasattr(utils.check, 'left'), 'LEFT' in os.environ)",
    )
    assert said == "False False False"


def test_no_descriptor_leads_out_of_a_job(level):
    assert len(printed(level, DESCRIPTORS).splitlines()) == 1, "its results alone"


@pytest.mark.parametrize(
    "change",
    [
        "os.chmod('f', 0o777)",
        "os.utime('f', (5, 5))",
        "os.chown('f', 1, 1)",
        "os.mknod('g')",
        "os.setxattr('f', 'user.x', b'x')",
    ],
)
def test_what_files_are_cannot_be_changed(level, change):
    if not syscalls.available():
        pytest.skip("no libseccomp here")
    assert printed(level, f"import os\nopen('f', 'w').close()\n{change}") == "PermissionError"


def test_a_command_is_passed_over_and_the_cell_goes_on(level):
    assert printed(level, "!pip install x\nfiles = !ls\nprint('on')").splitlines()[-1] == "on"


def test_an_exercise_whose_helper_stands_below_its_check_counts(level):
    uses = {"source": "def attention_scores(q, X):\n    return below(q, X)"}
    helper = {"source": "def below(q, X):\n    return (q.unsqueeze(-2) * X).sum(-1)"}
    for cells in ([uses, {"exercise": "attention_scores"}, helper], [{"exercise": "attention_scores"}, uses, helper]):
        _, (examined,) = examine_cells(cells, "seed", level, limits_of(UNIT))
        assert examined.result.passed, examined.result.message


def test_secrets_of_the_environment_stay_outside(level, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "very secret")
    assert "SECRET_TOKEN" not in printed(level, "import os\nprint(dict(os.environ))")
