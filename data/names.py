"""Column names of files, by meaning. It is the only table of aliases; formats and suggested mappings read it.

The order of a tuple is the order of preference. Two tuples differ where two formats accept different names.
"""

# Every format
MEDIA = frozenset(
    name + end
    for name in ("image", "images", "img", "video", "videos", "audio", "audios")
    for end in ("", "_path", "_paths", "_url", "_urls", "_file", "_files")
)
"""Content that a text refers to with a mark such as <image>."""
SYSTEM_COLUMNS = (
    "system", "system_prompt", "system_message", "system_instruction", "system_instructions", "system_content", "system_text",
    "system_msg", "sys_prompt",
)  # fmt: skip
"""A system message; OpenOrca's is `system_prompt`. The first one that is filled is read."""
SYSTEM = frozenset(SYSTEM_COLUMNS)
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
ASKED_COLUMNS = ("prompt", "instruction", "question", "messages", "conversations", "conversation", "query", "input")
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
PREFERRED = ("preferred", "preferred_response", "preferred_answer", "preferred_completion", "preferred_output")
NON_PREFERRED = tuple(
    f"{word}{end}"
    for word in ("non_preferred", "nonpreferred", "dispreferred", "not_preferred", "unpreferred")
    for end in ("", "_response", "_answer", "_completion", "_output")
)
UNLABELLED_LISTS = ("completions", "output")
UNLABELLED_PAIRS = (
    ("a", "b"), ("response_a", "response_b"), ("response1", "response2"), ("response_1", "response_2"),
    ("completion_a", "completion_b"), ("output_1", "output_2"), ("answer_a", "answer_b"), ("response_0", "response_1"),
    ("answer_0", "answer_1"), ("answer_1", "answer_2"), ("completion_1", "completion_2"), ("output_a", "output_b"),
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
SIDE_SCORES = ("score", "rating", "reward", "quality", "points", "votes", "upvotes", "likes", "elo")
SIDE_RANKS = ("rank", "ranking", "place")
"""Beginnings or ends of the names of an answer's score and rank: `score_a`, `response_a_rank`."""
ANSWER_SCORES = ("score", "reward", "rating")
RANK_LISTS = ("ranks", "rank", "ranking")
SCORE_LISTS = ("scores", "rewards", "ratings", "rating")
ULTRAFEEDBACK_SCORES = ("fine-grained_score", "overall_score")
"""The mean of the ratings comes first: some overall scores are wrong by a factor of ten (found by Argilla)."""
THUMB_TAGS = (
    "kto_tag", "label", "tag", "thumb", "thumbs", "thumbs_up", "feedback", "user_feedback", "human_feedback", "liked", "reaction",
    "vote", "accepted", "desirable",
)  # fmt: skip
"""Whether an answer is good. The values must say so: true, false, 1, 0, or words such as thumbs_up."""
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
    ("good_edited_response", "bad_edited_response"), ("pos", "neg"), ("y_w", "y_l"), ("yw", "yl"),
)  # fmt: skip
"""Pairs of names that state which side is better."""
PAIR_ENDS = frozenset(
    (("a", "b"), ("1", "2"), ("0", "1"), ("x", "y"), ("j", "k"), ("one", "two"), ("first", "second"), ("left", "right"))
)
"""Words in which the names of two answers differ."""
SUGGESTED_LABELS = (
    "label", "labels", "winner", "preference", "choice", "vote", "better", "better_response_id", "overall", "evaluation_result",
    "preferred", "verdict", "human_preference", "gold_label", "better_response", "better_answer", "preferred_response",
)  # fmt: skip
SUGGESTED_ANSWERS = ("completion", "response", "output", "answer", "generation", "target", "solution")
SUGGESTED_NOTES = {
    "annotator": ("annotator", "worker", "labeler", "user_id"),
    "time": ("time", "timestamp", "created_at"),
}


# Meanings of columns that a format does not read (`data.column_meaning`), by the words of their names
VERDICT_NAMES = frozenset(
    {"thumb", "thumbs", "vote", "votes", "voted", "upvote", "upvotes", "downvote", "downvotes", "like", "likes", "liked",
     "dislike", "dislikes", "disliked", "feedback", "quality", "accept", "accepted", "acceptable", "reject", "rejected",
     "correct", "correctness", "incorrect", "verdict", "grade", "grades", "graded", "reaction", "reactions", "helpful",
     "helpfulness", "unhelpful", "harmless", "harmlessness", "harmful", "harm", "honest", "honesty", "toxic", "toxicity",
     "safe", "safety", "unsafe", "score", "scores", "scored", "rating", "ratings", "rated", "reward", "rewards", "rank",
     "ranks", "ranking", "ranked", "pass", "passed", "fail", "failed", "prefer", "preferred", "preference", "preferences",
     "winner", "win", "wins", "won", "loser", "better", "best", "worse", "worst", "good", "bad", "judge", "judgement",
     "judgment", "judged", "evaluation", "approve", "approved", "approval", "star", "stars", "karma", "useful",
     "usefulness", "satisfied", "satisfaction", "desirable", "undesirable", "hallucination", "hallucinated", "truthful",
     "truthfulness", "faithful", "faithfulness", "relevance", "relevant", "coherence", "fluency", "acceptability",
     "outcome", "chosen", "choice", "picked", "nps", "csat", "thumbsup", "thumbsdown", "wrong", "elo", "mark", "marks",
     "likert", "opinion", "decision", "flagged", "agree", "agrees", "agreement", "valid", "tie", "tied", "swap", "swapped",
     "flip", "flipped", "reversed", "inverted", "bewertung", "avis", "valoracion", "valoración", "calificación", "nota",
     "voto", "оценка", "рейтинг", "评分", "评价", "得分", "評価", "点数", "평가", "점수"}
)  # fmt: skip
"""Words in the names of columns that rate an answer."""
REVERSALS = frozenset({"swap", "swapped", "flip", "flipped", "reversed", "inverted", "tie", "tied"})
"""Words in the names of columns in which yes means that the chosen answer is not the better one."""
PLACES = frozenset({"order", "index", "idx", "id"})
"""Last words of metadata that name an answer or an order of answers beside a verdict: `best_index`, `preference_order`."""
DEFECT_NAMES = frozenset(
    {"toxic", "toxicity", "unsafe", "harmful", "harm", "hallucination", "hallucinated", "incorrect", "wrong", "bad",
     "rejected", "reject", "failed", "fail", "disliked", "dislike", "dislikes", "down", "thumbsdown", "downvote",
     "downvotes", "unhelpful", "undesirable", "worse", "worst", "spam", "refusal", "error", "errors", "flag", "flagged",
     "refused", "hidden", "deleted", "removed", "blocked", "offensive", "biased", "abusive", "nsfw", "invalid"}
)  # fmt: skip
"""Words in the names of columns in which yes marks a bad answer."""
LABEL_NAMES = frozenset(
    {"label", "labels", "tag", "is", "class", "sentiment", "target", "positive", "negative", "overall"}
)
"""Words in names that may also be a topic: the values decide."""
VERDICT_STEMS = (
    "feedback", "thumb", "verdict", "rating", "score", "reward", "upvote", "downvote", "winner", "helpful", "toxic", "preferred",
    "preference", "isgood", "isbad", "correct", "accepted", "rejected", "ranking",
)  # fmt: skip
"""Parts of names without separators, such as `userfeedback`."""
SYSTEM_NAMES = frozenset(
    {"instructions", "preamble", "developer", "developer_prompt", "developer_message", "developer_instructions",
     "developer_content", "role_prompt", "persona_prompt", "initial_prompt", "meta_prompt"}
)  # fmt: skip
"""Columns that may hold a system message, beside names that begin with `system`."""
RANKING_NAMES = frozenset({"rank", "ranks", "ranking", "rankings", "ranked"})
COUNTS = frozenset({"count", "counts", "num", "number", "total", "n", "nr", "no"})
COUNTED_VERDICTS = frozenset(
    {"vote", "votes", "upvote", "upvotes", "downvote", "downvotes", "like", "likes", "dislike", "dislikes", "star",
     "stars", "thumbs", "thumb"}
)  # fmt: skip
"""Whose number is a verdict: `vote_count`, `num_likes`."""
SHARES = frozenset({"percent", "pct", "ratio"})
"""Last words of metadata, unless another word names a verdict: `approval_pct`."""
METADATA_WORDS = frozenset(
    {"suggestion", "suggestions", "top", "configs", "penalty", "max", "min", "beam", "beams", "split", "splits", "lang", "langs", "language", "languages", "locale", "source", "sources", "dataset", "datasets",
     "subset", "domain", "domains", "category", "categories", "subcategory", "topic", "topics", "subtopic", "task",
     "tasks", "subtask", "type", "types", "subtype", "subject", "subjects", "field", "area", "turn", "turns", "token",
     "tokens", "length", "lengths", "len", "char", "chars", "characters", "words", "id", "ids", "idx", "index", "indices",
     "uuid", "guid", "hash", "sha", "md5", "digest", "fingerprint", "url", "urls", "uri", "link", "links", "href",
     "model", "models", "engine", "generator", "generators", "provider", "temperature", "topp", "seed", "time", "times",
     "timestamp", "tstamp", "date", "datetime", "created", "updated", "modified", "day", "month", "year", "hour",
     "version", "revision", "release", "epoch", "author", "authors", "user", "users", "username", "annotator",
     "annotators", "worker", "workers", "labeler", "labelers", "evaluator", "rater", "judge_model", "country", "state",
     "city", "region", "ip", "license", "licence", "difficulty", "level", "complexity", "verbosity", "age", "page",
     "chapter", "section", "line", "lines", "offset", "position", "order", "cost", "latency", "duration", "ms", "seconds",
     "price", "file", "files", "filename", "path", "paths", "filepath", "name", "names", "title", "titles", "redacted",
     "truncated", "multi", "skill", "skills", "style", "tone", "persona", "format", "formats", "formatting", "framework",
     "cluster", "clusters", "similarity", "distance", "perplexity", "ppl", "loss", "logprob", "logprobs", "entropy",
     "embedding", "embeddings", "vector", "vectors", "step", "steps", "depth", "shard", "batch", "fold", "ability",
     "abilities", "extra", "metadata", "meta", "header", "headers", "unnamed", "weight", "weights", "row", "rank_model",
     "intent", "keyword", "keywords", "entity", "entities", "constraint", "constraints", "english", "chinese", "german",
     "french", "spanish", "japanese", "korean", "code", "multilingual", "multiturn", "synthetic", "ratio", "percent",
     "pct", "size", "sizes", "bytes", "width", "height", "round", "rounds", "stage", "phase", "status", "session",
     "conversation", "thread", "chat", "ref", "refs", "key", "keys", "group", "groups", "bucket", "train", "loss_weight",
     "mask", "masks", "tool", "tools", "function", "functions", "prob", "probability", "confidence", "strength",
     "instruction_type", "method", "methods", "algorithm", "template", "templates", "gender", "job", "occupation",
     "industry", "sector", "company", "brand", "product", "currency", "origin", "dump", "snapshot", "kind", "mode",
     "config", "params", "parameters", "settings", "reason", "finish", "duplicate", "duplicates", "processed", "shuffled",
     "public", "test", "set", "shots", "chunk", "chunks", "part", "parts", "priority", "identifier", "pk", "tags", "usage", "info"}
)  # fmt: skip
"""Last words in the names of columns that describe a record."""
DESCRIPTIONS = frozenset(
    {"explanation", "explanations", "rationale", "rationales", "reasoning", "reason", "thought", "thoughts", "thinking",
     "critique", "critiques", "comment", "comments", "note", "notes", "remark", "remarks", "description", "summary",
     "abstract", "raw", "question", "questions", "instruction", "instructions", "query", "prompt",
     "prompts", "title", "knowledge", "background", "template", "plan", "cot", "scratchpad", "analysis", "hint", "hints",
     "principle", "metadata"}
)  # fmt: skip
"""Words in the names of texts that are no answer."""
ANSWER_NAMES = frozenset(
    {"response", "responses", "answer", "answers", "completion", "completions", "output", "outputs", "generation",
     "generations", "reply", "replies", "candidate", "candidates", "chosen", "rejected", "preferred", "dispreferred",
     "nonpreferred", "unpreferred", "negative", "negatives", "positive", "positives", "alternative", "alternatives",
     "alt", "better", "worse", "best", "worst", "good", "bad", "winner", "loser", "accepted", "discarded", "baseline",
     "draft", "revision", "revised", "edited", "corrected", "correction", "improved", "rewrite", "rewritten",
     "continuation", "prediction", "predictions", "predicted", "hypothesis", "generated", "gold", "golden", "assistant",
     "bot", "gpt", "chatgpt", "claude", "llama", "gemini", "mistral", "qwen", "deepseek", "other", "second", "sample",
     "samples", "human", "machine", "reject", "losing", "winning", "lose", "wrong", "incorrect", "regenerated", "retry",
     "runner", "contrast", "distractor", "pos", "neg", "target", "targets"}
)  # fmt: skip
"""Words in the names of columns that hold an answer."""
PROMPT_TEXTS = frozenset({"history", "instruction", "query", "prompt", "question", "chat_history", "previous_turns"})
"""Columns that hold a prompt or a part of it."""
ORDER_COLUMNS = frozenset(
    {"winner", "label", "labels", "preference", "preferred", "better", "choice", "vote", "verdict", "better_answer",
     "better_response", "better_side", "which_is_better", "preferred_answer", "preferred_response", "human_preference", "gold_label"}
)  # fmt: skip
"""Columns that may state which side of a pair is better."""
ROLE_NAMES = frozenset({"role", "roles", "speaker", "sender", "from", "author", "speaker_role"})
ROLE_VALUES = frozenset(
    {"user", "assistant", "human", "gpt", "bot", "system", "prompter", "chatgpt", "model", "ai", "agent", "customer",
     "tool", "function", "developer", "teacher", "student", "instructor", "client", "llm"}
)  # fmt: skip
TREE_NAMES = frozenset(
    {"parent", "parent_id", "parent_message_id", "parent_message", "parent_uuid", "reply_to", "in_reply_to",
     "reply_to_id", "parent_turn_id"}
)  # fmt: skip
TURN_NAMES = frozenset(
    {"turn", "turn_id", "turn_index", "turn_idx", "turn_number", "turn_no", "turn_num", "utterance_id", "utterance_index",
     "message_index", "message_number", "message_order"}
)  # fmt: skip
