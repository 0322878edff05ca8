"""The commands of the command line that run without a chat, such as `chat-loop sessions …`."""
