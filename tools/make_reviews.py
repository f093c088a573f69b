"""Writes examples/reviews.tsv: short movie reviews put together from phrases written for this purpose; always the same file."""

from __future__ import annotations

import csv
import pathlib
import random

REVIEWS = 400
KIND = {
    "opening": [
        "I went in expecting little and came out smiling.",
        "A warm and careful film.",
        "What a lovely surprise!",
        "This one stays with you.",
        "Easily the best evening I had this month.",
        "We laughed, then we cried a bit.",
        "Finally a comedy that trusts its audience.",
        "My daughter asked to watch it again at once.",
        "Tense from the first scene to the last.",
        "Beautiful to look at, and clever too.",
    ],
    "acting": [
        "The lead is wonderful and never overplays.",
        "Every actor seems to listen to the others.",
        "The old fisherman is a joy in each scene.",
        "Such honest faces, such good timing.",
        "The two sisters are brilliant together.",
        "Even the smallest part is superbly cast.",
        "The villain is charming, which makes it worse, in a good way.",
        "I believed every word they said.",
    ],
    "craft": [
        "The music is gentle and fits.",
        "The camera finds grace in plain rooms.",
        "The script is sharp and funny.",
        "The cutting is swift and the pace is right.",
        "The ending is earned and moving.",
        "The night scenes are gorgeous.",
        "The dialogue sparkles.",
        "A fresh idea, told with patience.",
        "The last ten minutes are superb.",
    ],
    "closing": [
        "Highly recommended.",
        "Go and see it.",
        "I would happily pay twice.",
        "Ten out of ten<br />from me.",
        "A small treasure.",
        "I have told all my friends.",
        "Do not miss it.",
        "Worth every minute.",
    ],
}
UNKIND = {
    "opening": [
        "I went in expecting a lot and came out yawning.",
        "A cold and careless film.",
        "What a sad disappointment!",
        "I had forgotten it by the bus stop.",
        "Easily the worst evening I had this month.",
        "Nobody in the room laughed.",
        "Another comedy that explains its jokes.",
        "My daughter asked to go home after half an hour.",
        "Dull from the first scene to the last.",
        "Ugly to look at, and silly too.",
    ],
    "acting": [
        "The lead is wooden and shouts.",
        "Every actor seems to wait for the cheque.",
        "The old fisherman is a bore in each scene.",
        "Such empty faces, such poor timing.",
        "The two sisters are dreadful together.",
        "Even the good actors look lost.",
        "The villain is a cliche, and a tired one.",
        "I believed nothing they said.",
    ],
    "craft": [
        "The music is loud and never stops.",
        "The camera shakes for no reason.",
        "The script is lazy and flat.",
        "The cutting is a mess and the pace is awful.",
        "The ending is forced and hollow.",
        "The night scenes are a grey blur.",
        "The dialogue is painful.",
        "A stale idea, told without care.",
        "The last ten minutes are a waste.",
    ],
    "closing": [
        "Avoid it.",
        "Stay at home instead.",
        "I want my money back.",
        "Two out of ten<br />from me.",
        "A long yawn.",
        "I have warned all my friends.",
        "Do not bother.",
        "Not worth a minute.",
    ],
}
NEUTRAL = [
    "It runs for about two hours.", "The story begins in a harbour town.", "It is the director's third film.",
    "Most of it was shot in winter.", "There is a book that it follows.", "We saw it on a Tuesday.",
    "Half of the scenes are set on a train.", "The second part moves to the city.", "It has subtitles in places.",
]  # fmt: skip


def review(rng: random.Random, label: int) -> str:
    """One review of three to six sentences; now and then one of them disagrees with the rest, as in real ones."""
    kind, other = (KIND, UNKIND) if label else (UNKIND, KIND)
    parts = [rng.choice(kind[part]) for part in ("opening", "acting", "craft", "closing") if rng.random() < 0.75]
    if rng.random() < 0.2:
        parts.insert(len(parts) // 2, "Still, to be fair: " + rng.choice(other["craft"]))
    parts += rng.sample(NEUTRAL, k=rng.choice([1, 1, 2]))
    if len(parts) < 3:
        parts.append(rng.choice(kind["closing"]))
    return " ".join(parts)


def main() -> None:
    """Write the table beside the example that reads it."""
    rng = random.Random(7)
    rows = [(review(rng, label), label) for label in [0, 1] * (REVIEWS // 2)]
    rng.shuffle(rows)
    path = pathlib.Path(__file__).resolve().parents[1] / "examples" / "reviews.tsv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(["text", "label"])
        table.writerows(rows)


if __name__ == "__main__":
    main()
