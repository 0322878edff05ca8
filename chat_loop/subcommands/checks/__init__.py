"""What `chat-loop doctor` looks at: each part yields findings, changes nothing, and asks no
service.
"""
