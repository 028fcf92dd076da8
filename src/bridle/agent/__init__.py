"""bridle-agent: a drop-in for the `claude` binary on any Messages API endpoint.

Which object holds which (an arrow reads "holds"; `assemble/run_agent.py` joins them):

    Run ──> MessageLoop            takes messages from the inbox, runs one turn for each
     │         ├──> Skills                 slash commands
     │         ├──> BackgroundTasks        stopped at the end
     │         └──> Conversation           turns, interrupts, signals, exit code
     │                 ├──> Inbox                  messages and control requests from stdin
     │                 ├──> ModelSetup             model, permissions, thinking: changed between requests
     │                 ├──> BackgroundEvents ──> BackgroundTasks
     │                 ├──> MessageLog             every message, once, to three sinks:
     │                 │       ├── messages              history for the next request
     │                 │       ├──> Session              transcript ──> TranscriptFile
     │                 │       └──> EventWriter          stdout ──> Output
     │                 ├──> ModelRequests          ──> RetryingClient ──> Attempts ──> Endpoint
     │                 │       ├──> LogCompaction ──> Compactor
     │                 │       └──> Totals                 cost and API time of the process
     │                 ├──> Toolbox                ──> Tool (Read, Bash, …), loaded when first called
     │                 └──> Turn (one at a time)
     │                         └──> AnswerReceiver ──> PartialAnswer ──> RunningCalls
     ├──> HostControl              control requests of the host ──> ControlHandlers ──> a handler for each subtype
     ├──> RunServers               MCP servers ──> McpServer ──> RpcConnection ──> Transport
     └──> Shell                    the working folder and environment of Bash

A tool call on its way: Endpoint, Attempts, RetryingClient, ModelRequests, AnswerReceiver, RunningCalls, Toolbox, Tool;
its result goes back through Turn to MessageLog. Its permission is decided once, in `Toolbox.run`.

Imports go downwards only, also inside functions:

    main, program
    acp
    assemble
    command_line   host_requests   subagents
    conversation
    tools   compaction   stdio   hooks   mcp
    control   tools.contract
    sessions   settings
    prompt
    skills   permissions   model   version
"""
