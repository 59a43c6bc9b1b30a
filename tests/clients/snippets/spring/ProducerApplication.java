import java.util.Random;
import java.util.stream.Collectors;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.annotation.Import;
import org.springframework.kafka.core.KafkaTemplate;

/** Uses the service in an application without transactions, in one with them, and in one that allows both kinds of sending. */
@SpringBootConfiguration
@EnableAutoConfiguration
@Import(OrderProducerService.class)
public class ProducerApplication {
    private static final String LARGE = new Random(1).ints(1000, '0', 'z').mapToObj(Character::toString).collect(Collectors.joining());

    private static void attempt(String what, Runnable send) {
        try {
            send.run();
            System.out.println(what + ": sent");
        } catch (RuntimeException failure) {
            System.out.println(what + ": " + failure.getClass().getSimpleName() + ": " + failure.getMessage());
        }
    }

    private static void use(String name, boolean mixed, String... settings) {
        var builder = new SpringApplicationBuilder(ProducerApplication.class).web(WebApplicationType.NONE);
        try (var application = builder.run(settings)) {
            application.getBean(KafkaTemplate.class).setAllowNonTransactional(mixed);
            var service = application.getBean(OrderProducerService.class);
            attempt(name + ", plain", () -> service.sendOrder("order-1", name));
            attempt(name + ", transactional", () -> service.sendOrderTransactional("order-1", name));
            attempt(name + ", too large", () -> service.sendOrderTransactional("order-1", LARGE));
        }
    }

    public static void main(String[] arguments) {
        String prefix = "--spring.kafka.producer.transaction-id-prefix=order-tx-";
        use("as pasted", false);
        use("with the prefix", false, prefix);
        use("with both", true, prefix);
    }
}
