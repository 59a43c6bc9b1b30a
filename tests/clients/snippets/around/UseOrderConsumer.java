import java.util.List;

/** One OrderConsumer reads six records, a second one joins, three more records come; then both end. */
public class UseOrderConsumer {
    public static void main(String[] arguments) throws Exception {
        try (Group group = new Group("order-processing-group")) {
            OrderConsumer first = new OrderConsumer();
            Thread firstThread = new Thread(first::run);
            firstThread.start();
            Group.await(6L, group::committed);

            OrderConsumer second = new OrderConsumer();
            Thread secondThread = new Thread(second::run);
            secondThread.start();
            Group.await(List.of(1, 2), group::shares);
            for (int partition = 0; partition < 3; partition++) {
                group.send(partition, "later");
            }
            Group.await(9L, group::committed);

            first.shutdown();
            second.shutdown();
            firstThread.join();
            secondThread.join();
            Group.await(List.of(), group::shares);
        }
    }
}
