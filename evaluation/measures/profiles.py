"""Profiles: named sets of options that reproduce other programs and papers, as far as options can."""

from .options import DEFAULT, Options

PROFILES: dict[str, Options] = {
    "default": DEFAULT,
    # trec_eval 10 ignores the rank column, compares scores as doubles, gives negative grades no gain, scores 0
    # where nothing is relevant, and averages over the queries of the run; with -c, over all judged queries.
    "trec_eval": Options(negatives="clip", ties="score", undefined="zero", missing="skip"),
    "trec_eval -c": Options(negatives="clip", ties="score", undefined="zero", missing="empty"),
    # ndcg_score makes the ideal of the ranked documents alone, and averages over tied scores.
    "sklearn": Options(ideal="retrieved", ties="average", undefined="zero"),
    # Burges et al., Learning to Rank using Gradient Descent, ICML 2005.
    "burges": Options(gain="exponential"),
    # The published code of Gienapp et al., CIKM 2020: no unjudged documents; ranks 1 and 2 weigh the same.
    "gienapp2020": Options(discount="jk2002", unjudged="condensed", negatives="minmax_closed"),
    # Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.
    "jk2002": Options(discount="jk2002"),
}
