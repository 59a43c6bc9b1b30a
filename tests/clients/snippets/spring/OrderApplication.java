import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Import;

/** What the tutorial leaves to its reader: an application, and what an order is. */
@SpringBootConfiguration
@EnableAutoConfiguration
@Import({OrderConsumerService.class, OrderApplication.OrderService.class})
public class OrderApplication {
    record Order(String id, double amount) {
    }

    static class OrderService {
        void process(Order order) {
            if (order.amount() < 0) {
                throw new IllegalArgumentException("the amount of " + order.id() + " is negative");
            }
        }
    }

    public static void main(String[] arguments) {
        SpringApplication.run(OrderApplication.class, arguments);
    }
}
