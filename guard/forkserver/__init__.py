"""The helper process that starts commands and sees to it that nothing they start outlives them.

It is a program of its own, which imports little and so forks fast: nothing in here may import the rest of bursar. For
each command the *fork server* forks a *keeper*, which forks the command, captures what it prints, waits for it and
ends whatever is left. All of them watch the server: a socket that ends, or a process descriptor that becomes readable,
means that it is gone, however it went.

The same fork server (`server`) forks the workers that parse; that process imports more, see `guard/workers`.

All speak as `wire` has it. Server to fork server: `{"fork": number, …}` with open files, those of a keeper being
control, output, stdin and script; `{"signal": signal, "number": number}` for what was forked under that number.
Server to keeper, over control: the order, later `{"stop": grace in seconds}` or `{"full": true}`. Keeper to server:
see `keeper.Keeper`.
"""
