"""Accounts, members, access, sign-in, sessions, tokens, rate limits, privacy, and the audit of what all do."""
