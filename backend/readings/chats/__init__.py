"""Chats of people with the models of a run, which its worker has answer."""
