"""The limits of a job's process are its own: they leave it what it may have, whatever else its user runs."""

import subprocess
import sys

from conftest import ROOT

# A job under limits starts a thread and timers, while its user has 300 threads elsewhere.
BUSY_USER = """
import ctypes, os, signal, threading, time
from autograder.sandbox.inside import confine

confine.address_space()
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
begin, tell = os.pipe()
if os.fork() == 0:
    os.read(begin, 1)
    confine.limit(0, 100, 1 << 26)
    thread = threading.Thread(target=print, args=("a thread ran",), kwargs={"flush": True})
    thread.start()
    thread.join()
    libc, timer, timers = ctypes.CDLL(None), ctypes.c_void_p(), 0
    while timers < 2000 and libc.timer_create(1, None, ctypes.byref(timer)) == 0:
        timers += 1
    print("timers", timers, flush=True)
    os._exit(0)
for _ in range(300):
    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
os.write(tell, b"x")
os.wait()
os._exit(0)
"""


def test_threads_that_its_user_has_elsewhere_leave_a_job_its_own_and_timers_are_bounded():
    came = subprocess.run([sys.executable, "-c", BUSY_USER], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert came.stdout.splitlines()[0] == "a thread ran", came.stderr
    assert int(came.stdout.split()[-1]) <= 256
