import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Exit;

/** Runs the main method of one of Kafka's tools as its shell script would: its input, its output, its exit status. */
final class Tools {
    /** Unwinds a tool from where it would have ended the process. Tools catch even this and try to exit again: the first time counts. */
    private static final class Exited extends Error {
        Exited() {
            super("the tool has exited", null, false, false);
        }
    }

    private static final class Streams {
        private final ByteArrayOutputStream output = new ByteArrayOutputStream();
        private final ByteArrayOutputStream error = new ByteArrayOutputStream();
        private Map<String, Object> ended;

        synchronized void end(int status) {
            if (ended == null) {
                ended = Map.of("status", status, "output", output.toString(StandardCharsets.UTF_8),
                        "error", error.toString(StandardCharsets.UTF_8));
            }
        }
    }

    static Object run(JsonNode request) throws Exception {
        List<String> arguments = new ArrayList<>();
        request.get("arguments").forEach(each -> arguments.add(each.asText()));
        InputStream input = new ByteArrayInputStream(request.get("input").asText().getBytes(StandardCharsets.UTF_8));
        return captured(input, () -> Class.forName(request.get("main").asText())
                .getMethod("main", String[].class).invoke(null, (Object) arguments.toArray(new String[0])));
    }

    interface Body {
        void run() throws Exception;
    }

    static Map<String, Object> captured(InputStream input, Body body) throws Exception {
        InputStream oldInput = System.in;
        PrintStream oldOutput = System.out;
        PrintStream oldError = System.err;
        Streams streams = new Streams();
        List<Runnable> shutdownHooks = new ArrayList<>();
        System.setIn(input);
        System.setOut(new PrintStream(streams.output, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(streams.error, true, StandardCharsets.UTF_8));
        Exit.Procedure exit = (status, message) -> {
            runAll(shutdownHooks);
            streams.end(status);
            throw new Exited();
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        Exit.setShutdownHookAdder((name, hook) -> shutdownHooks.add(hook));
        try {
            try {
                body.run();
            } catch (InvocationTargetException failed) {
                throw failed.getCause();
            }
            runAll(shutdownHooks);
            streams.end(0);
        } catch (Throwable uncaught) {
            uncaught.printStackTrace(); // as the JVM does for an uncaught exception of main
            streams.end(1);
        } finally {
            System.setIn(oldInput);
            System.setOut(oldOutput);
            System.setErr(oldError);
            Exit.resetExitProcedure();
            Exit.resetHaltProcedure();
            Exit.resetShutdownHookAdder();
        }
        return streams.ended;
    }

    /** Runs each hook once, in a thread of its own as the JVM does: a tool may wait in one for its main thread. */
    private static void runAll(List<Runnable> hooks) {
        List<Thread> threads = new ArrayList<>();
        hooks.forEach(hook -> threads.add(new Thread(hook)));
        hooks.clear();
        threads.forEach(Thread::start);
        for (Thread each : threads) {
            try {
                each.join(10_000);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private Tools() {
    }
}
