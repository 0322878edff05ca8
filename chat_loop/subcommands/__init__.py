"""`chat-loop sessions …` and `chat-loop models …`: what is done without a chat."""
