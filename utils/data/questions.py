"""Questions about scenes, of four kinds and with one-word answers, drawn so that who sees nothing is at chance."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from utils.data.scenes import COLOURS, OPPOSITE, SHAPES, SIDES, Scene, vocabulary
from utils.data.translation import START

ANSWERS = {
    "colour": tuple(COLOURS),
    "shape": SHAPES,
    "size": tuple(SIDES),
    "where": ("above", "below", "left", "right"),
}
CHANCE = {kind: 1 / len(answers) for kind, answers in ANSWERS.items()}


@dataclass(frozen=True)
class Question:
    """One question about a scene: its kind, its words, its answer, and the place of the scene among those it was drawn from."""

    kind: str
    words: tuple[str, ...]
    answer: str
    scene: int

    def tokens(self) -> list[int]:
        return vocabulary().encode(self.words)[:-1]  # without [STOP]: the answer follows

    def target(self) -> int:
        return vocabulary().numbers[self.answer]


def questions(scene: Scene, place: int = 0) -> list[Question]:
    """Eight questions, one of each kind about each of the two objects. The word that is asked for comes last."""
    relation = " ".join(word for word, thing in zip(scene.caption, scene.mentions) if thing is None)
    found = []
    for thing, lies in zip(scene.things, (relation, OPPOSITE[relation])):
        where = lies.split()[0]
        asked = (
            ("colour", f"what colour is the {thing.shape}", thing.colour),
            ("shape", f"which shape is {where}", thing.shape),
            ("size", f"what size is the {thing.shape}", thing.size),
            ("where", f"where is the {thing.shape}", where),
        )
        found += [Question(kind, tuple(words.split()), answer, place) for kind, words, answer in asked]
    return found


class EvenQuestions:
    """All questions about some scenes; each answer of a kind is drawn equally often."""

    def __init__(self, some: Sequence[Scene]):
        self.by_answer = {kind: {answer: [] for answer in answers} for kind, answers in ANSWERS.items()}
        for place, scene in enumerate(some):
            for question in questions(scene, place):
                self.by_answer[question.kind][question.answer].append(question)

    def draw(self, chance: random.Random, count: int) -> list[Question]:
        """`count` questions, of all kinds alike."""
        kinds = [self.by_answer[chance.choice(list(ANSWERS))] for _ in range(count)]
        return [chance.choice(of[chance.choice(list(of))]) for of in kinds]

    def test(self, kind: str, each: int, seed: int = 5) -> list[Question]:
        """`each` questions of one kind, as many for each answer."""
        chance, of = random.Random(seed), self.by_answer[kind]
        return [chance.choice(some) for some in of.values() for _ in range(each // len(of))]


def document(scene: Scene, count: int, chance: random.Random) -> tuple[list[int], list[int]]:
    """A text for a language model: [START], a caption, [STOP], and `count` questions, each with its answer.

    Returns:
        the tokens, and the places of the answers among them.
    """
    tokens, places = [START, *vocabulary().encode(scene.caption)], []
    for question in chance.sample(questions(scene), count):
        tokens += [*question.tokens(), question.target()]
        places.append(len(tokens) - 1)
    return tokens, places
