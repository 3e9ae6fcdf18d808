"""Column names of files, by meaning. It is the only table of aliases; formats and suggested mappings read it.

The order of a tuple is the order of preference. Two tuples differ where two formats accept different names.
"""

# Every format
MEDIA = frozenset({"image", "images", "video", "videos", "audio", "audios"})
"""Content that a text refers to with a mark such as <image>."""
SYSTEM = frozenset({"system", "system_prompt"})
"""A system message; the second name is OpenOrca's."""
TIMES = ("time", "timestamp", "tstamp", "created_at", "created_at_utc")
ANNOTATORS = ("annotator", "annotator_id", "annotator_index", "labeler", "worker")
SOURCES = ("source", "dataset", "domain")
NOTED = frozenset((*TIMES, *ANNOTATORS, *SOURCES))
"""Columns that `data.formats.values.notes` reads."""


# Prompts and conversations
PROMPT_COLUMNS = ("prompt", "question", "problem", "instruction", "query")
QUESTIONS = ("question", "problem")
INPUTS = ("input", "query", "context")
"""The input of an instruction; Dolly calls it the context."""
INSTRUCTION_COLUMNS = frozenset({"instruction", "system", "history", *INPUTS})
DEMONSTRATION_PROMPTS = ("prompt", "instruction", "question", "query")
RANKING_PROMPTS = ("prompt", "instruction", "input")
AXOLOTL_PROMPTS = ("question", "input", "prompt")
VERIFIABLE_PROMPTS = ("context_messages", "input", "prompt")
CONVERSATIONS = ("messages", "conversations", "conversation", "chat")
SHAREGPT_CONVERSATIONS = ("conversations", "messages", "conversation")


# Reference answers
REFERENCES = ("answer", "reference_answer", "expected_answer", "ground_truth", "final_answer", "solution")
"""The answer that a reward checks; the most exact names come first."""
EXACT_REFERENCES = tuple(name for name in REFERENCES if name != "solution")
"""Names of reference answers only; `solution` may also be an answer to imitate."""


# Answers
DEMONSTRATION_ANSWERS = ("completion", "response", "output", "generation")
RATED_ANSWERS = ("completion", "response", "output", "answer", "text")
ANSWER_LISTS = ("completions", "responses", "answers", "candidates", "generations", "candidates_completions")
UNLABELLED_LISTS = ("completions", "output")
UNLABELLED_PAIRS = (
    ("a", "b"), ("response_a", "response_b"), ("response1", "response2"), ("response_1", "response_2"),
    ("completion_a", "completion_b"), ("output_1", "output_2"), ("answer_a", "answer_b"),
)  # fmt: skip
ANSWER_WORDS = ("response", "answer", "completion", "output", "generation", "chosen", "rejected", "reply", "candidate")


# Scores and labels
PAIR_SCORES = (
    ("score_chosen", "score_rejected"), ("chosen_score", "rejected_score"), ("chosen_rating", "rejected_rating"),
    ("rating_chosen", "rating_rejected"), ("chosen-rating", "rejected-rating"),
    ("chosen_avg_rating", "rejected_avg_rating"),
)  # fmt: skip
PAIR_SCORE_COLUMNS = frozenset(name for pair in PAIR_SCORES for name in pair)
"""Scores of the two sides of a pair."""
ANSWER_SCORES = ("score", "reward", "rating")
RANK_LISTS = ("ranks", "rank", "ranking")
SCORE_LISTS = ("scores", "rewards", "ratings", "rating")
ULTRAFEEDBACK_SCORES = ("fine-grained_score", "overall_score")
"""The mean of the ratings comes first: some overall scores are wrong by a factor of ten (found by Argilla)."""
THUMB_TAGS = ("kto_tag", "label", "tag")
LABEL_WORDS = ("winner", "label", "prefer", "choice", "vote", "better", "rank", "score", "rating", "reward")


# Columns that a suggested mapping uses
SUGGESTED_PROMPTS = (*PROMPT_COLUMNS, "input", "context", "post", "history")
SUGGESTED_PAIRS = (
    ("response_a", "response_b"), ("response_1", "response_2"), ("response_0", "response_1"), ("response1", "response2"),
    ("completion_a", "completion_b"), ("completion_1", "completion_2"), ("output_a", "output_b"), ("output_1", "output_2"),
    ("answer_a", "answer_b"), ("answer_1", "answer_2"), ("answer_0", "answer_1"), ("human_ref_A", "human_ref_B"),
    ("text_a", "text_b"), ("left", "right"), ("a", "b"), ("response_j", "response_k"), ("edited_response", "original_response"),
)  # fmt: skip
SUGGESTED_SIDES = (
    ("chosen", "rejected"), ("good", "bad"), ("better", "worse"), ("preferred", "dispreferred"), ("winner", "loser"),
    ("positive", "negative"), ("accepted", "rejected"), ("preferred", "rejected"), ("chosen_response", "rejected_response"),
    ("good_edited_response", "bad_edited_response"),
)  # fmt: skip
"""Pairs of names that state which side is better."""
SUGGESTED_LABELS = (
    "label", "labels", "winner", "preference", "choice", "vote", "better", "better_response_id", "overall", "evaluation_result",
)  # fmt: skip
SUGGESTED_ANSWERS = ("completion", "response", "output", "answer", "generation", "target", "solution")
SUGGESTED_NOTES = {
    "annotator": ("annotator", "worker", "labeler", "user_id"),
    "time": ("time", "timestamp", "created_at"),
}
