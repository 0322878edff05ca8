"""Finding exchanges by what was said in them: words and sentences (pure), and the engines that rank
them.
"""
