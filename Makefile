.PHONY: kafka-jars
kafka-jars: .cache/kafka-jars/.complete

.cache/kafka-jars/.complete: tests/java/pom.xml
	rm -rf .cache/kafka-jars
	mvn -q -B -f tests/java/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/.cache/kafka-jars
	touch $@
