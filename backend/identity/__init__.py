"""People and what they may do: logins, tokens, accounts, projects, the audit trail."""
