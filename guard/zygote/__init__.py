"""The helper process that starts commands and sees to it that nothing they start outlives them.

It is a program of its own, which imports little and so forks fast: nothing in here may import the rest of bursar. For
each command the *zygote* forks a *keeper*; the keeper forks the command, captures what it prints, waits for it, and
ends whatever is left. All of them watch the server: a socket that ends, or a process descriptor that becomes readable,
means that it is gone, however it went.

Server to zygote, nine bytes: `F` (fork a keeper; with it the descriptors control, output, stdin, script), or the
process id of a keeper after `K` (it no longer answers: kill it) or `C` (it may have been stopped: continue it).
Server to keeper, over control, lines: the order as JSON, later `stop <grace in seconds>`. Keeper to server: JSON
lines, see `keeper.Keeper`.
"""
