"""Accounts, members, access, sign-in, sessions, tokens, rate limits, erasure, and the audit of what all do."""
