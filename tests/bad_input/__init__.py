"""What users, programs and strangers may send, each case with its name and its stated answer.

The queue's messages are in ``tests/contract``: there they are read. All cases are counted in ``test_bad_corpus.py``.
"""
