#!/bin/sh
# Speaks a2a-jsonl/1: reads a JSON object per line, writes a JSON object per line.

say() { printf '%s\n' "$1"; }

while read -r line; do
    case "$line" in
    *'"type":"task"'*)
        say '{"type":"status","state":"input-required","text":"What is your name?"}'
        ;;
    *'"type":"message"'*)
        # The text of the first part, without a JSON parser.
        name=$(printf '%s' "$line" | sed 's/.*"parts":\[{"text":"\([^"]*\)".*/\1/')
        say '{"type":"status","state":"working","text":"Thinking of something nice"}'
        say '{"type":"artifact","artifactId":"greeting","text":"Good day, "}'
        say "{\"type\":\"artifact\",\"artifactId\":\"greeting\",\"text\":\"$name!\",\"append\":true,\"last\":true}"
        say '{"type":"status","state":"completed"}'
        ;;
    *'"type":"cancel"'* | *'"type":"shutdown"'*)
        exit 0
        ;;
    esac
done
