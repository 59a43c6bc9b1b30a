import com.fasterxml.jackson.databind.JsonNode;
import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Compiles sources given as text and runs the main method of one of them: for snippets that are tested as they stand. */
final class Sources {
    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String className, String text) {
            super(URI.create("string:///" + className + ".java"), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    static Object run(JsonNode request) throws Exception {
        List<Source> sources = new ArrayList<>();
        request.get("sources").fields().forEachRemaining(
                entry -> sources.add(new Source(entry.getKey(), entry.getValue().asText())));
        Path classes = Files.createTempDirectory("snippet");
        try {
            compile(sources, classes);
            try (URLClassLoader loader = new URLClassLoader(new URL[] {classes.toUri().toURL()})) {
                ClassLoader old = Thread.currentThread().getContextClassLoader();
                Thread.currentThread().setContextClassLoader(loader); // Kafka finds configured classes through it
                try {
                    return Tools.captured(InputStream.nullInputStream(), () -> loader.loadClass(
                            request.get("main").asText()).getMethod("main", String[].class).invoke(null, (Object) new String[0]));
                } finally {
                    Thread.currentThread().setContextClassLoader(old);
                }
            }
        } finally {
            try (var files = Files.walk(classes)) {
                files.sorted(Comparator.reverseOrder()).forEach(each -> each.toFile().delete());
            }
        }
    }

    private static void compile(List<Source> sources, Path classes) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> problems = new DiagnosticCollector<>();
        List<String> options = List.of("-d", classes.toString(), "-cp", System.getProperty("java.class.path"));
        if (!compiler.getTask(null, null, problems, options, null, sources).call()) {
            throw new IllegalArgumentException(problems.getDiagnostics().toString());
        }
    }

    private Sources() {
    }
}
