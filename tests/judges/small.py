"""A judged answer worked by hand: two units that assert something, a greeting, two chunks and two gold answers."""

from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Nugget, Unit, Verdict

YES, NO, AGAINST, UNKNOWN = (
    Verdict("supported", 0.9, "all words"),
    Verdict("not_found", 0.1),
    Verdict("contradicted", 0.0, "9 is not 10"),
    Verdict("not_judged", None, "budget"),
)
ANSWER = "Hello! It opens at 9 [h#2]. It closes at 20 [h#1][h#2]. [x#9]"
RECORD = JudgedAnswer(
    "q1",
    "answered",
    answer=ANSWER,
    context=("h#1", "h#2"),
    units=(Unit(0, 6, "Hello!", "greeting"), Unit(7, 26, "It opens at 9."), Unit(27, 61, "It closes at 20.")),
    citations=(
        CitedChunk(1, 21, 26, "[h#2]", 1),
        CitedChunk(2, 44, 49, "[h#1]", 0),
        CitedChunk(2, 49, 54, "[h#2]", 1),
        CitedChunk(2, 56, 61, "[x#9]", None, "dangling"),
    ),
    gold_answers=("It opens at 9. Really?", "At nine."),
    gold_units=(Unit(0, 14, "It opens at 9."), Unit(15, 22, "Really?", "question"), Unit(0, 8, "At nine.", "", 1)),
    support=((), (NO, YES), (AGAINST, UNKNOWN)),
    grounded=(None, YES, NO),
    joint=(None, YES, NO),
    without=(None, NO, UNKNOWN, None),
    correctness=((), (YES, UNKNOWN), (NO, NO)),
    said=(YES, None, NO),
    reach=((NO, YES), (), (UNKNOWN, NO)),
    nuggets=(Nugget("opens at 9", True, 1.0), Nugget("closes at 20", False, None, "budget")),
    grade=Verdict("supported", 0.75),
    answerable=True,
)
MISSING = JudgedAnswer("q2", "missing")
