"""The acts that the audit notes, and their names on pages."""

from django.db.models import TextChoices


class Act(TextChoices):
    INVITED = "invited", "invited"
    INVITATION_WITHDRAWN = "invitation.withdrawn", "withdrew the invitation of"
    JOINED = "joined", "joined"
    MEMBER_ADDED = "member.added", "added the member"
    ROLE = "role", "changed the role of"
    MEMBER_REMOVED = "member.removed", "removed the member"
    SUPERUSER = "superuser", "made a superuser of"
    SUPERUSER_NO_MORE = "superuser.ended", "took the rights of a superuser from"
    ACCOUNT = "account", "changed the account"
    TERMS = "terms", "changed what may be rated by"
    DEACTIVATED = "rater.deactivated", "deactivated"
    REACTIVATED = "rater.reactivated", "reactivated"
    ERASED = "rater.erased", "erased the person who is now"
    SIGNED_IN = "signed_in", "signed in as"
    SIGN_IN_REFUSED = "sign_in.refused", "was refused as"
    SIGN_OUT_REFUSED = "sign_out.refused", "was refused to end sessions of"
    SIGN_IN = "sign_in", "changed how people sign in"
    PASSWORD = "password", "changed the password of"
    SESSIONS_ENDED = "sessions.ended", "ended the sessions of"
    TOKEN_MADE = "token.made", "made a token for"
    TOKEN_REVOKED = "token.revoked", "revoked a token of"
    MADE = "collection.made", "made the collection"
    DESCRIBED = "collection.described", "renamed or described the collection"
    PUT_AWAY = "collection.put_away", "put the collection away"
    TAKEN_OUT = "collection.taken_out", "took the collection out"
    DELETED = "collection.deleted", "deleted the collection"
    RESTORED = "collection.restored", "restored the collection"
    REMOVED = "collection.removed", "removed the collection for good"
    SCALE = "scale", "changed the scale"
    GUIDELINES = "guidelines", "wrote guidelines"
    PRESENTATION = "presentation", "changed the presentation"
    POOL = "pool", "wanted ratings"
    POOL_FEWER = "pool.fewer", "wanted fewer ratings"
    RETIRED = "pool.retired", "retired pairs"
    BROUGHT_BACK = "pool.brought_back", "brought pairs back"
    JUDGING = "judging", "changed how pairs are given out"
    ANCHOR = "anchor", "made an anchor of"
    ANCHOR_REMOVED = "anchor.removed", "removed the anchor of"
    DECIDED = "decision", "decided"
    DECISION_WITHDRAWN = "decision.withdrawn", "withdrew the decision on"
    JUDGE = "judge", "made the judge"
    JUDGE_VERSION = "judge.version", "made a version of the judge"
    JUDGE_SAMPLE = "judge.sample", "took a sample for the judge"
    JUDGE_SAMPLE_DROPPED = "judge.sample.dropped", "dropped the sample of the judge"
    JUDGE_RUN = "judge.run", "had the judge asked"
    JUDGE_RUN_CHANGED = "judge.run.changed", "paused, resumed or cancelled the run of the judge"
    JUDGE_USE = "judge.use", "changed what is done with the grades of the judge"
    FROZEN = "frozen", "froze the evaluation"
    EXPORTED = "exported", "exported"
    IMPORTED = "imported", "imported"
    IMPORT_UNDONE = "import.undone", "undid the import of"
    QUERY_TAKEN_IN = "query.taken_in", "took into the sample the"
    QUERY_LEFT_OUT = "query.left_out", "left out of the sample the"
    BASELINE = "baseline", "made a baseline of"
    SYSTEM_DELETED = "system.deleted", "deleted the system"
    ADMIN = "admin", "used Django's admin for"  # of events from before it became read-only


# The object of these acts is a person or can contain a name, so an erasure searches them.
ABOUT_PEOPLE = [
    Act.INVITED,
    Act.INVITATION_WITHDRAWN,
    Act.JOINED,
    Act.MEMBER_ADDED,
    Act.ROLE,
    Act.MEMBER_REMOVED,
    Act.SUPERUSER,
    Act.SUPERUSER_NO_MORE,
    Act.ACCOUNT,
    Act.TERMS,
    Act.DEACTIVATED,
    Act.REACTIVATED,
    Act.SIGNED_IN,
    Act.SIGN_IN_REFUSED,
    Act.SIGN_OUT_REFUSED,
    Act.SIGN_IN,
    Act.PASSWORD,
    Act.SESSIONS_ENDED,
    Act.TOKEN_MADE,
    Act.TOKEN_REVOKED,
    Act.EXPORTED,
    Act.ADMIN,
]
