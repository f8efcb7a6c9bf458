"""Accounts, members, access, sessions, tokens, rate limits and privacy."""
