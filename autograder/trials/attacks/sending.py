"""Attacks on the pipe by which a job talks to the grader: lines that student code writes in the place of the kit's."""

from autograder.trials.attacks.kinds import FULL, Attack, Remains, answer

_EXERCISE = "stable_softmax"
# What a cell needs to talk over the socket, which is one of its descriptors, in the place of the kit.
_TOOLS = """
import json, os, stat, sys, torch
from utils.checking.observing.observe import observe
from utils.checking.packs.packing import pack, unpack_case
from utils.checking.records import Failure, Observation
def stable_softmax(e, dim=-1):
    return torch.softmax(e, dim)
def read(size):
    data = b""
    while len(data) < size:
        data += os.read(talk, size - len(data))
    return data
def say(line):
    line += b"\\n"
    while line:
        line = line[os.write(talk, line):]
def being_asked():
    asked, frame = None, getattr(sys, "_get" + "frame")()
    while frame:
        asked, frame = getattr(frame, "f_" + "locals").get("asked", asked), getattr(frame, "f_" + "back")
    return asked
def is_socket(number):
    try: return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError: return False
talk = next(filter(is_socket, range(3, 256)), None)
def send(number, turn=0, observation={}):
    say(json.dumps({"place": [number, turn], "observation": observation, "seconds": 0.01}).encode())
"""
_BEFORE = _TOOLS + "send(being_asked()['place'][0] + 1)"
_WITHIN = (
    _TOOLS
    + """
def stable_softmax(e, dim=-1, openly=torch.softmax):
    asked = being_asked()
    if "case" in asked and not asked.get("answered"):
        asked["answered"] = True
        try: send(*asked["place"], pack(observe(openly, unpack_case(asked["case"]), watched=False)))
        except Exception: pass
    return openly(e, dim)
"""
)
_AGAIN = "for number in range(being_asked()['place'][0]): send(number)"
# It reads what is to be done, and never returns.
TALKING = (
    _TOOLS
    + """
def done(asked):
    if "case" not in asked:
        return {"outputs": []}
    try: seen = observe(globals()[asked["exercise"]], unpack_case(asked["case"]), watched=False)
    except BaseException: seen = Observation(failure=Failure("missing", "missing"))
    return {"observation": pack(seen), "seconds": 0.01}
def changed(line):
    return line
asked = being_asked()
if asked:
    say(json.dumps({"place": asked["place"], "outputs": []}).encode())
    while True:
        word, _, turns = read(int(read(8))).split()
        say(word)
        if turns == b"0": os._exit(0)
        for _ in range(int(turns)):
            asked = json.loads(read(int(read(8))))
            say(changed(json.dumps({"place": asked["place"], **done(asked)})).encode())
"""
)
_CASES_MET = """
import sys, torch
def attention_scores(q, X):
    frame, cases = getattr(sys, "_get" + "frame")(), []
    while frame:
        for value in list(getattr(frame, "f_" + "locals").values()):
            if isinstance(value, dict) and "stable_softmax" in (value.get("cases") or ()):
                raise RuntimeError("met")
        frame = getattr(frame, "f_" + "back")
    return (q.unsqueeze(-2) * X).sum(-1)
"""
_FLOOD = """
import os
for number in range(3, 256):
    try:
        for _ in range(700): os.write(number, b"x" * 65536)
    except OSError: pass
"""
_CUT = """
import os
for number in range(3, 256):
    try: os.write(number, b'{"cell": 5, "half')
    except OSError: pass
"""

_SECOND_GUESS = (
    _TOOLS
    + """
steps = set()
def attention_scores(q, X):
    steps.add(being_asked()["place"][0])
    return (q.unsqueeze(-2) * X).sum(-1) * (1 if len(steps) > 1 else 2)
"""
)
# What waits in the socket is one exercise's cases: the results are made where it is least likely to be noted, in the first call.
_PEEKS = (
    _TOOLS
    + """
import socket
known, calls = {}, []
def name_of(e): return tuple(e.shape), str(e.dtype), e.detach().float().flatten()[:6].tolist().__str__()
def look():
    own = socket.socket(fileno=os.dup(talk))
    data = own.recv(1 << 24, socket.MSG_PEEK | socket.MSG_DONTWAIT).decode("latin1")
    at = data.find('{"exercise"')
    while at >= 0:
        try: case = unpack_case(json.JSONDecoder().raw_decode(data, at)[0]["case"])
        except ValueError: break
        e = torch.from_numpy(case.inputs["e"].copy())
        e = e.to(getattr(torch, case.precision)) if case.precision else e
        known[name_of(e)] = torch.softmax(e, case.inputs.get("dim", -1))
        at = data.find('{"exercise"', at + 1)
def stable_softmax(e, dim=-1):
    calls.append(1)
    if len(calls) == 1:
        try: look()
        except OSError: pass
    return known.get(name_of(e), e * 0).clone()
"""
)

# Answers that are right it has to find by itself; what it gains is that nobody notes how.
_REMAINS = Remains(
    "The socket over which a job is told what to do, and answers, is open in the process in which the student's code runs; what"
    " that process says of itself, such as what was called, is believed. To stop it, another process would have to do the"
    " talking, and to look from outside at how something was computed.",
    3,
)

_WAITING = Remains(
    "Cases of the exercise under way wait in the socket, all but the first 4 kB, and a part of the exercise on whose cases nothing"
    " forbidden is seen keeps its points. How many cases can be read in time depends on the draw: in some runs no part is whole."
    " To stop it, each case would have to be sent once the one before is answered; that was tried, and a job took a sixth longer.",
    FULL - 2,
    always=False,
)

ATTACKS = [
    Attack("line-before", "send a line for an exercise before it is examined", answer(_BEFORE, _EXERCISE), stock=False),
    Attack("line-within", "send a line for an exercise while it is examined, so that there are two", answer(_WITHIN, _EXERCISE),
           stock=False),
    Attack("line-again", "send lines at the end for all that was examined", answer(_TOOLS, _EXERCISE, _AGAIN), stock=False),
    Attack("takes-over", "talk to the grader in the place of the kit, to the end of the notebook", answer(TALKING, _EXERCISE), stock=False,
           remains=_REMAINS),
    Attack("second-guess", "answer otherwise once it is examined more closely, as the first answer was wrong", answer(_SECOND_GUESS),
           solved=True, deserves=FULL - 2, stock=False),
    Attack("peeks", "read the cases that wait in the socket, and make their results in a call on other numbers", answer(_PEEKS, _EXERCISE),
           solved=True, deserves=FULL - 3, stock=False, remains=_WAITING),
    Attack("cases-in-frames", "find the cases of a later exercise in the callers' variables", answer(_CASES_MET), solved=True, stock=False),
    Attack("floods-pipe", "write 45 MB into every open descriptor", _FLOOD, solved=True, stock=False),
    Attack("half-lines", "write the beginning of a line before each line of the kit's", _CUT, solved=True, stock=False),
]  # fmt: skip
